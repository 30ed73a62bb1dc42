// What the tests of graphs share.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "skein/data/graphs/graph_files.h"

#include "data/data_fixtures.h"

namespace skein::test {

// Of the edges of a table; nodes are those that they name, or `nodes` in all.
inline data::GraphSet graphs_of_lines(const std::string& lines,
                                      data::GraphFilesConfig config = {}) {
  const Scratch scratch;
  write_file(scratch.file("graphs.jsonl"), lines);
  config.inputs = {scratch.file("graphs.jsonl")};
  return data::read_graphs(config);
}

inline std::vector<std::vector<uint32_t>> neighbours_of(const data::Graph& graph) {
  std::vector<std::vector<uint32_t>> made;
  for (int64_t node = 0; node < graph.nodes; ++node)
    made.emplace_back(graph.link_to.begin() + graph.link_starts[node],
                      graph.link_to.begin() + graph.link_starts[node + 1]);
  return made;
}

}  // namespace skein::test
