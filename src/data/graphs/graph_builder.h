// What the layouts of graphs share: graphs as they are read, and a set of graphs made of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skein/core/json.h"
#include "skein/core/strings.h"
#include "skein/data/graphs/graph.h"
#include "skein/data/graphs/graph_files.h"
#include "skein/data/graphs/graph_store.h"

namespace skein::data {

inline constexpr int64_t kMostLineBytes = int64_t{1} << 28;
// Nodes, links: as many as 31 bits count.
inline constexpr int64_t kMostNodes = INT32_MAX;

// Names that are numbered as they come, and once all are there by their order; or those of another
// store, which keep their numbers.
class NameTable {
 public:
  NameTable() = default;
  explicit NameTable(std::span<const std::string> known);

  int32_t add(std::string_view name);
  bool has(std::string_view name) const { return ids_.contains(name); }
  bool known() const { return known_; }
  const std::vector<std::string>& names() const { return names_; }
  // Orders names that were not known, by their numbers where all are whole ones, else by bytes,
  // kNoCategory behind all. Returns the new number of each.
  std::vector<int32_t> settle();

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> ids_;
  bool known_ = false;
};

struct Edge {
  int64_t from = 0, to = 0;
  int64_t line = 0;  // of its file; 0 where the graph's name says all
};

// Lists of numbers, one after the other.
struct NumberLists {
  std::vector<double> values{};
  std::vector<int64_t> ends{};
  bool empty() const { return ends.empty(); }
  int64_t length(size_t list) const { return ends[list] - begin(list); }
  int64_t begin(size_t list) const { return list == 0 ? 0 : ends[list - 1]; }
  void end_list() { ends.push_back(std::ssize(values)); }
};

// Links still as they are listed; values of links are those of edges.
struct ReadGraph {
  Graph graph{};
  std::string edge_file{};  // for messages
  std::vector<Edge> edges{};
  NumberLists node_lists{}, link_lists{}, label_lists{};

  int64_t rows(GraphPart part) const {
    return is_of_nodes(part) ? graph.nodes : is_of_links(part) ? std::ssize(edges) : 1;
  }
  std::string where(const Edge& edge) const;
};

// Usage errors that begin with `where` and name `what`.
double finite_number(std::string_view text, const std::string& where, const char* what);
int64_t whole_number(std::string_view text, const std::string& where, const char* what, int64_t low,
                     int64_t high);

class GraphBuilder {
 public:
  explicit GraphBuilder(const GraphFilesConfig& config);

  // The id of a category until all are known; -1 for none (""). A usage error for one that the
  // vocabulary lacks.
  int32_t id(GraphPart part, std::string_view name, const std::string& where);
  // The category that a JSON value is, or -1 for null. A usage error for lists and objects.
  int32_t json_id(GraphPart part, const nlohmann::json& value, const std::string& where);
  // Of a split's name: train; validation, valid, val, dev; test; none, "" and null.
  static int32_t split_id(const nlohmann::json& value, const std::string& where);
  // A value of a node or a link, of a label or a feature: a category, or a list of numbers. `part`
  // is what categories are.
  void add_value(ReadGraph& read, GraphPart part, NumberLists& lists, const nlohmann::json& value,
                 const std::string& where);

  void add(ReadGraph&& read);
  // Makes links of edges, and one column of what each part is.
  GraphSet finish();

 private:
  const NameTable& names(GraphPart part) const { return names_[static_cast<size_t>(part)]; }
  FeatureKind list_kind(GraphPart bag, GraphPart number) const;
  LabelKind single_kind(GraphPart from, GraphPart to) const;
  void settle_lists(NumberLists ReadGraph::*lists, GraphPart bag, GraphPart number);
  void lists_to_numbers(NumberLists ReadGraph::*lists, GraphPart number, int64_t width);
  void lists_to_bags(NumberLists ReadGraph::*lists, GraphPart bag, bool places);
  void settle_numbers(GraphPart from, GraphPart to);
  void settle_names(GraphPart part);
  int32_t none_of(GraphPart part);
  void settle_split(GraphPart part);
  void check_filled(GraphPart part) const;

  const GraphFilesConfig& config_;
  std::optional<GraphRecords> vocabulary_;
  std::vector<ReadGraph> read_;
  GraphSet set_;
  std::array<NameTable, kGraphParts> names_;
};

// Links of edges by config's rules; values of links are put in the order of links.
void link_graph(ReadGraph& read, const GraphFilesConfig& config);

// The layouts.
void read_tu(const std::string& folder, GraphBuilder& into);
void read_lists(const std::string& path, GraphBuilder& into);
void read_jsonl(const std::string& path, const GraphFilesConfig& config, GraphBuilder& into);
void read_nodes(const std::string& path, const std::string& edges, const GraphFilesConfig& config,
                GraphBuilder& into);
void read_links(const std::string& path, const GraphFilesConfig& config, GraphBuilder& into);

}  // namespace skein::data
