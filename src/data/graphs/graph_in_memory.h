// A graph of a store as samples are made of it.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/graphs/graph_form.h"
#include "skein/data/graphs/graph_store.h"

namespace skein::data {

// What samples see of a graph. Nodes have places here, and links are numbered as in the graph.
struct SeenNodes {
  std::vector<int32_t> nodes{};            // the node at each place
  std::vector<int32_t> rows{}, columns{};  // of each link: the places that gather, and from where
  std::vector<int64_t> links{};            // the number of each
};

// What a form reads of a graph.
struct GraphInMemory {
  int64_t nodes = 0;
  GraphLinks links{};
  std::vector<int64_t> bag_starts{};  // [nodes + 1]
  std::vector<int32_t> bags{};        // categories of nodes, in the form's one table
  std::vector<float> numbers{};       // [nodes, those that the store has]
  std::vector<int32_t> link_kinds{};  // [links]
  std::vector<float> link_values{};   // [links, numbers]
  std::vector<uint8_t> distances{};   // [nodes,nodes]
  SeenNodes all{};                    // but for links that are out of sight
  // Of nodes, where they are read: classes, or numbers as the store has them.
  std::vector<int32_t> classes{};
  std::vector<float> values{};
};
struct GraphReading {
  bool hides_links = false;  // those of validation and test are out of sight
  bool node_labels = false;
};
// Usage errors where the store is damaged.
GraphInMemory graph_in_memory(const GraphRecords& store, const GraphForm& form, int64_t record,
                              const GraphReading& reading);
// Of its nodes, the largest number of categories.
int64_t most_in_bags(const GraphRecords& store, const GraphForm& form, int64_t record);

// A node, at place 0, those that it gathers from, those that these gather from, and so on: of each
// node that is i hops away neighbours[i] of its links, drawn alike from all of them, or all where
// they are no more; links of nodes with themselves are always there, and no node is drawn for
// twice. What is drawn for a node is a function of the key, the first node and the node itself.
SeenNodes drawn_nodes(const GraphLinks& links, int64_t node, const std::vector<int64_t>& neighbours,
                      uint64_t key);

}  // namespace skein::data
