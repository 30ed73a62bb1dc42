// What models read of graphs: the columns of stores that nodes and links are made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace skein::data {

// Parts of graphs that a model may have a use for, beside its nodes and links.
struct GraphUses {
  bool link_parts = false;  // categories and numbers of links
  bool distances = false;   // of all pairs of nodes
};

// How much there is of each part.
struct GraphSizes {
  int64_t node_ids = 0;       // categories of nodes, of all columns, in one table
  int64_t node_numbers = 0;   // numbers a node
  int64_t link_kinds = 0;     // categories of links
  int64_t link_numbers = 0;   // numbers a link
  int64_t nodes = 0;          // of the largest graph
  double links_per_node = 0;  // where samples are as large as they may be; 0: unknown

  bool operator==(const GraphSizes&) const = default;
};

// A column that is read. ids: how many there are; numbers: how many a row has.
struct GraphInput {
  std::string column;
  int64_t size = 0;
  uint32_t names_sum = 0;  // of the names of its ids, where they have some

  bool operator==(const GraphInput&) const = default;
};

struct GraphForm {
  std::vector<GraphInput> inputs{};
  int64_t random = 0;     // numbers a node that are drawn anew in each pass over the data
  bool of_nodes = false;  // labels are those of nodes, else of graphs

  bool operator==(const GraphForm&) const = default;
  GraphSizes sizes() const;
};

// Of a column; `other`: none that models read.
enum class GraphInputKind { other, node_ids, node_numbers, link_kinds, link_numbers, distances };
GraphInputKind kind_of_input(const std::string& column);

}  // namespace skein::data
