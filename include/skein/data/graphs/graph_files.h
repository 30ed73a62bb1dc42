// Graphs as data sets come.
//
//   const GraphSet set = read_graphs({.inputs = {"MUTAG"}});
//
// tu: an INPUT is a folder with DS_A.txt (a link a line, two nodes from 1), DS_graph_indicator.txt
//   (the graph of each node, from 1), and those that there are of DS_graph_labels.txt,
//   DS_graph_attributes.txt, DS_node_labels.txt, DS_node_attributes.txt, DS_edge_labels.txt and
//   DS_edge_attributes.txt (Morris and others, "TUDataset", 2020).
// lists: a text. The first line is the number of graphs; a graph is a line of its number of nodes
//   and its label, and a line a node: its category, its number of neighbours, these, counted from 0
//   in the graph, and any numbers of the node.
// jsonl: a graph a line: an object with nodes (how many, or what is known of each), links ([from,
//   to] or [from, to, what is known of it], nodes from 0), and perhaps a label and a split.
// nodes: a node a line of JSONL: an object with an id and perhaps features, a label and a split;
//   graphs.edges names the table of links of each INPUT. An INPUT is a graph.
// links: an INPUT is a table of links (.csv, .tsv), and a graph; its nodes are those that links
//   name, in the order of their numbers, or in byte order where they are no numbers.
// gzip, xz, zstd, bzip2 and lz4 are read through.
//
// What is known of a node or a link is a category (a text or a whole number), a number, or a list
// of numbers. Categories are numbered in the order of their numbers, or in byte order where some
// are no numbers; gaps between them close.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/graphs/graph.h"

namespace skein::data {

enum class GraphLayout { automatic, tu, lists, jsonl, nodes, links };
// What a node's numbers are. automatic: lists are numbers in texts, and in JSONL where all are of
// one length, else a bag; single ones as LabelKind has it, which are categories with bag, too.
enum class FeatureKind {
  automatic,
  bag,         // of the categories that it lists, in any order
  numbers,     // f32
  categories,  // a category for each place: a bag of names such as "0=6" for a 6 at place 0
};
// automatic: numbers where some have a fraction, else classes.
enum class LabelKind { automatic, classes, numbers };
enum class SelfLoops { keep, drop, add };  // add: one at each node that has none
enum class Duplicates { refuse, keep, drop };

struct GraphFilesConfig {
  std::vector<std::string> inputs{};
  GraphLayout layout = GraphLayout::automatic;
  std::vector<std::string> edges{};  // nodes: the links of each INPUT
  // Keys of JSONL. One that is not the usual must be there.
  std::string id_key = "id", features_key = "x", nodes_key = "nodes", links_key = "edges",
              label_key = "y", split_key = "split";
  FeatureKind features = FeatureKind::automatic;
  LabelKind links = LabelKind::automatic;  // single values beside links
  LabelKind labels = LabelKind::automatic;
  bool directed = false;  // a link (a, b) has b gather from a, and not a from b
  SelfLoops self_loops = SelfLoops::keep;
  Duplicates duplicates = Duplicates::refuse;
  bool header = false;  // tables of links begin with a row of names
  // A store whose categories and classes these are, in its order, and whose features say what those
  // that are `automatic` are; "": as the inputs have them.
  std::string vocabulary{};

  bool operator==(const GraphFilesConfig&) const = default;
};
// Binds all but inputs under section "graphs".
void bind(Options& options, GraphFilesConfig& config);

// All of them, in the order of the input. Without `directed` a pair of nodes that is listed both
// ways is one link each way. Usage errors name file and line: for links to nodes that are not
// there, counts that are negative or contradict what follows, numbers that are not finite or do not
// fit f32, rows of other lengths, links that are listed twice or whose two ways differ, a part that
// only some graphs have, categories and classes that the vocabulary lacks, and inputs without a
// graph.
GraphSet read_graphs(const GraphFilesConfig& config);

}  // namespace skein::data
