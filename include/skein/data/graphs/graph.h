// Graphs in memory, as they are read, made and stored.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skein::data {

// What may be known of the nodes, the links and the whole of a graph. Each is a column of stores,
// whose name name_of says.
enum class GraphPart {
  node_category,
  node_bag,  // any number of categories a node, such as the words of a text
  node_number,
  node_label,
  node_split,
  link_category,
  link_number,
  link_split,  // of both ways of a pair alike
  label,
  split
};
inline constexpr size_t kGraphParts = 10;
inline constexpr std::array<const char*, kGraphParts> kGraphPartNames{
    "node_category", "node_bag",    "node_number", "node_label", "node_split",
    "link_category", "link_number", "link_split",  "label",      "split"};
constexpr const char* name_of(GraphPart part) { return kGraphPartNames[static_cast<size_t>(part)]; }
constexpr bool is_of_nodes(GraphPart part) { return part <= GraphPart::node_split; }
constexpr bool is_of_links(GraphPart part) {
  return part >= GraphPart::link_category && part <= GraphPart::link_split;
}

// The part of one graph: ids of categories, or numbers, one after the other.
struct GraphValues {
  std::vector<int32_t> ids{};
  std::vector<float> numbers{};    // [rows,width]
  std::vector<uint32_t> starts{};  // [nodes + 1], only of bags: where in ids those of a node begin
};

// The part of all graphs: what the ids are, or how many numbers a row has.
struct GraphColumn {
  std::vector<std::string> names{};
  int64_t width = 0;
  bool used() const { return width > 0 || !names.empty(); }
};

struct Graph {
  std::string name{};  // for messages: "esol.jsonl:12"
  int64_t nodes = 0;
  // Links as rows that gather: node n gathers from link_to[link_starts[n] .. link_starts[n + 1]).
  std::vector<uint32_t> link_starts{};  // [nodes + 1]
  std::vector<uint32_t> link_to{};      // [links], which rise at each node
  std::array<GraphValues, kGraphParts> values{};

  int64_t links() const { return std::ssize(link_to); }
  GraphValues& of(GraphPart part) { return values[static_cast<size_t>(part)]; }
  const GraphValues& of(GraphPart part) const { return values[static_cast<size_t>(part)]; }
};

struct GraphSet {
  std::vector<Graph> graphs{};
  std::array<GraphColumn, kGraphParts> columns{};
  bool directed = false;  // else each link has its way back

  GraphColumn& of(GraphPart part) { return columns[static_cast<size_t>(part)]; }
  const GraphColumn& of(GraphPart part) const { return columns[static_cast<size_t>(part)]; }
};

// The name of the category of nodes, links and graphs that the data give none, where others have
// one: the last of the names.
inline constexpr const char* kNoCategory = "(none)";
// The names of a split.
inline constexpr std::array<const char*, 4> kSplitNames{"train", "validation", "test", "none"};

}  // namespace skein::data
