// Files of graphs: the first byte says which layout. A line "----" divides the files that a layout
// has: nodes and links; the links, the indicator, labels of nodes, of links and of graphs of TU.
#include <filesystem>

#include "skein/data/graphs/graph_files.h"

#include "../fuzz.h"

namespace {

using namespace skein::data;

void write_tu(const std::string& folder, std::string_view input) {
  std::filesystem::create_directories(folder);
  for (const char* end : {"A", "graph_indicator", "node_labels", "edge_labels", "graph_labels"}) {
    const skein::test::FuzzFile file(std::string("tu/DS_") + end + ".txt");
    file.remove();
    const std::string_view part = skein::test::take_part(input);
    if (!part.empty()) file.write(part);
  }
}

}  // namespace

void fuzz(std::string_view input) {
  if (input.empty()) return;
  static const skein::test::FuzzFile folder("tu"), json("x.jsonl"), links("x.tsv"), text("x.txt");
  const uint8_t choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  GraphFilesConfig config;
  config.directed = (choice & 8) != 0;
  config.duplicates = (choice & 16) != 0 ? Duplicates::keep : Duplicates::refuse;
  config.features = (choice & 32) != 0 ? FeatureKind::categories : FeatureKind::automatic;
  switch (choice % 5) {
    case 0:
      write_tu(folder.path(), input);
      config.inputs = {folder.path()};
      break;
    case 1:
      text.write(input);
      config.inputs = {text.path()};
      break;
    case 2:
      json.write(input);
      config.inputs = {json.path()};
      break;
    case 3:
      json.write(skein::test::take_part(input));
      config.edges = {links.path()};
      config.inputs = {json.path()};
      [[fallthrough]];
    default:
      links.write(input);
      if (config.inputs.empty()) config.inputs = {links.path()};
  }
  for (const Graph& graph : read_graphs(config).graphs)
    for (const uint32_t node : graph.link_to)
      if (node >= graph.nodes) std::abort();
}
