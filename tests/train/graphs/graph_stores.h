// Small stores of graphs.
#pragma once

#include <fmt/format.h>
#include <fstream>
#include <string>

#include "skein/data/graphs/graph_store.h"

namespace skein::train {

struct GraphStoreForm {
  int64_t count = 60;
  bool labelled = true, numbers = false, split = true, distances = true;
  int64_t folds = 0;
  bool hides_links = false;      // a fifth of them for validation, as many for the test
  std::string first_kind = "a";  // of nodes
};

// Rings, paths and stars, the classes 0, 1 and 2, of 4 to 9 nodes of two kinds and links of two.
// With numbers half their nodes instead.
inline std::string graph_line(int64_t number, const GraphStoreForm& form) {
  const int64_t nodes = 4 + number * 7 % 6, shape = number % 3;
  std::string kinds, links;
  for (int64_t node = 0; node < nodes; ++node)
    kinds += fmt::format("{}\"{}\"", node ? "," : "", (node + number) % 2 ? "b" : form.first_kind);
  for (int64_t node = 1; node < nodes; ++node)
    links += fmt::format("{}[{},{},\"{}\"]", node > 1 ? "," : "", shape == 2 ? 0 : node - 1, node,
                         node % 2 ? "x" : "y");
  if (shape == 0) links += fmt::format(",[{},0,\"x\"]", nodes - 1);
  std::string line = fmt::format(R"({{"nodes":[{}],"edges":[{}])", kinds, links);
  if (form.labelled)
    line += form.numbers ? fmt::format(R"(,"y":{}.5)", nodes) : fmt::format(R"(,"y":{})", shape);
  if (form.split)
    line += fmt::format(R"(,"split":"{}")", number % 5 == 3   ? "validation"
                                            : number % 5 == 4 ? "test"
                                                              : "train");
  return line + "}\n";
}

inline std::string write_graphs(const std::string& path, const GraphStoreForm& form = {}) {
  std::ofstream text(path + ".jsonl");
  for (int64_t i = 0; i < form.count; ++i) text << graph_line(i, form);
  text.close();
  data::GraphStoreConfig config;
  config.files.inputs = {path + ".jsonl"};
  config.split.folds = form.folds;
  if (form.hides_links) config.split.link_fractions = {"0.6", "0.2", "0.2"};
  config.positions = {.laplacian = 2, .walks = 4, .colours = 1, .distances = form.distances};
  config.output = path;
  config.replace = true;
  data::write_graph_store(config);
  return path;
}

// One graph: two rings of 20 nodes with three links between them. A node's class is its ring; of
// every fourth a word says it.
inline std::string write_nodes(const std::string& path, int64_t folds = 0) {
  std::ofstream nodes(path + ".jsonl"), edges(path + ".tsv");
  for (int64_t node = 0; node < 40; ++node) {
    const int64_t ring = node / 20;
    nodes << fmt::format(R"({{"id":{},"x":[{}],"y":{},"split":"{}"}})", node,
                         node % 4 ? 5 : ring + 1, ring,
                         node % 5 == 0   ? "train"
                         : node % 5 == 1 ? "validation"
                                         : "test")
          << "\n";
    edges << node << "\t" << ring * 20 + (node + 1) % 20 << "\n";
    if (node == 3 || node == 9 || node == 17) edges << node << "\t" << node + 20 << "\n";
  }
  nodes.close();
  edges.close();
  data::GraphStoreConfig config;
  config.files.inputs = {path + ".jsonl"};
  config.files.edges = {path + ".tsv"};
  config.files.features = data::FeatureKind::bag;
  config.files.self_loops = data::SelfLoops::add;
  if (folds > 0) config.files.split_key = "";
  config.split.folds = folds;
  config.output = path;
  config.replace = true;
  data::write_graph_store(config);
  return path;
}

}  // namespace skein::train
