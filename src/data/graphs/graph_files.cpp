#include "skein/data/graphs/graph_files.h"

#include <filesystem>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/suffix.h"

#include "graph_builder.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

GraphLayout graph_layout(const GraphFilesConfig& config) {
  if (config.layout != GraphLayout::automatic) return config.layout;
  if (!config.edges.empty()) return GraphLayout::nodes;
  const std::string& first = config.inputs.front();
  if (fs::is_directory(first)) return GraphLayout::tu;
  switch (format_in_name(first)) {
    case NamedFormat::jsonl: return GraphLayout::jsonl;
    case NamedFormat::csv:
    case NamedFormat::tsv: return GraphLayout::links;
    default: return GraphLayout::lists;
  }
}

void check(const GraphFilesConfig& config, GraphLayout layout) {
  require(layout == GraphLayout::nodes || config.edges.empty(),
          "graphs.edges={} are for graphs.format=nodes, where an INPUT has the nodes",
          listed(config.edges));
  require(layout != GraphLayout::nodes || config.edges.size() == config.inputs.size(),
          "{} files of nodes and {} of links (graphs.edges) were given; each graph needs both",
          config.inputs.size(), config.edges.size());
}

void read_input(const GraphFilesConfig& config, GraphLayout layout, size_t input,
                GraphBuilder& into) {
  const std::string& path = config.inputs[input];
  switch (layout) {
    case GraphLayout::tu: return read_tu(path, into);
    case GraphLayout::jsonl: return read_jsonl(path, config, into);
    case GraphLayout::nodes: return read_nodes(path, config.edges[input], config, into);
    case GraphLayout::links: return read_links(path, config, into);
    default: return read_lists(path, into);
  }
}

void bind_kinds(Options& options, GraphFilesConfig& c) {
  options.add_choice("graphs.feature_kind", c.features,
                     {{"auto", FeatureKind::automatic},
                      {"bag", FeatureKind::bag},
                      {"numbers", FeatureKind::numbers},
                      {"categories", FeatureKind::categories}},
                     "what a node's list of numbers is: numbers; a bag of the categories that it "
                     "lists; a category for each place; auto: numbers where all are of one length, "
                     "else a bag. A single number: a category, too, with bag; auto: a number where "
                     "some have a fraction");
  options.add_choice("graphs.link_kind", c.links,
                     {{"auto", LabelKind::automatic},
                      {"numbers", LabelKind::numbers},
                      {"categories", LabelKind::classes}},
                     "what a single number beside a link is; auto: a number where some have a "
                     "fraction");
  options.add_choice("graphs.label_kind", c.labels,
                     {{"auto", LabelKind::automatic},
                      {"class", LabelKind::classes},
                      {"number", LabelKind::numbers}},
                     "of nodes and graphs; auto: numbers where some have a fraction");
}

void bind_links(Options& options, GraphFilesConfig& c) {
  options.add("graphs.directed", c.directed,
              "a link from a to b has b gather from a alone; else both from each other");
  options.add_choice(
      "graphs.self_loops", c.self_loops,
      {{"keep", SelfLoops::keep}, {"drop", SelfLoops::drop}, {"add", SelfLoops::add}},
      "links of a node with itself; add: each node has one");
  options.add_choice(
      "graphs.duplicates", c.duplicates,
      {{"refuse", Duplicates::refuse}, {"keep", Duplicates::keep}, {"drop", Duplicates::drop}},
      "links that are listed twice");
  options.add("graphs.header", c.header, "tables of links begin with a row of names");
}

}  // namespace

void bind(Options& options, GraphFilesConfig& c) {
  options.add_choice("graphs.format", c.layout,
                     {{"auto", GraphLayout::automatic},
                      {"tu", GraphLayout::tu},
                      {"lists", GraphLayout::lists},
                      {"jsonl", GraphLayout::jsonl},
                      {"nodes", GraphLayout::nodes},
                      {"links", GraphLayout::links}},
                     "tu: folders of DS_A.txt and its kin; jsonl: a graph a line; nodes: a node a "
                     "line, and graphs.edges; links: tables of links; lists: texts of neighbours; "
                     "auto: by the inputs");
  options.add("graphs.edges", c.edges, "nodes: the table of links of each INPUT (.csv, .tsv)");
  options.add("graphs.id", c.id_key, "nodes: the key of a node's id");
  options.add("graphs.features", c.features_key, "nodes: the key of what is known of a node");
  options.add("graphs.nodes", c.nodes_key, "jsonl: the key of the nodes");
  options.add("graphs.links", c.links_key, "jsonl: the key of the links");
  options.add("graphs.label", c.label_key, "the key of a node's or a graph's label");
  options.add("graphs.split", c.split_key,
              "the key that says what is for training, validation, "
              "test");
  options.add("graphs.vocabulary", c.vocabulary,
              "a store of graphs whose categories and classes these are, so that its models read "
              "them; empty: those that there are");
  bind_kinds(options, c);
  bind_links(options, c);
}

GraphSet read_graphs(const GraphFilesConfig& config) {
  require(!config.inputs.empty(),
          "no graphs were given; name folders of DS_A.txt, JSONL, tables of links or lists of "
          "neighbours, or ask for some with graphs.make");
  for (const std::string& input : config.inputs)
    require(input == "-" || fs::exists(input), "cannot read {}: there is no such file or folder",
            input);
  const GraphLayout layout = graph_layout(config);
  check(config, layout);
  GraphFilesConfig settled = config;
  settled.layout = layout;
  GraphBuilder builder(settled);
  for (size_t i = 0; i < config.inputs.size(); ++i) read_input(config, layout, i, builder);
  return builder.finish();
}

}  // namespace skein::data
