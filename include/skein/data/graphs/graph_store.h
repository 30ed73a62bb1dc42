// Stores of graphs: records of which each is a graph (docs/record-store.md).
//
// Columns, of which only link_starts and link_to are always there:
//   link_starts       u32, nodes + 1 rows a graph: where in its links those of each node begin
//   link_to           u32, a row a link: the node, counted from 0 in the graph, that is gathered
//                     from; rising at each node
//   node_category, node_label, node_split      categories, a row a node
//   node_bag, node_bag_starts                  categories, any number a node; u32, nodes + 1 rows
//   node_number       f32 [numbers], a row a node; node_label too where labels are numbers
//   link_category, link_number, link_split                the same of links, in the order of
//                     link_to
//   label, split      of the graph: categories, or f32 [numbers]
//   node_laplacian, node_walk, node_colour, pair_distance      positions.h
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/columns/records.h"
#include "skein/data/graphs/graph.h"
#include "skein/data/graphs/graph_files.h"
#include "skein/data/graphs/made_graphs.h"
#include "skein/data/graphs/positions.h"

namespace skein::data {

inline constexpr const char *kLinkStartsColumn = "link_starts", *kLinkToColumn = "link_to",
                            *kBagStartsColumn = "node_bag_starts",
                            *kLaplacianColumn = "node_laplacian", *kWalkColumn = "node_walk",
                            *kColourColumn = "node_colour", *kDistanceColumn = "pair_distance";

// How what is learnt from is divided: graphs, or the nodes where there is one graph.
struct GraphSplitConfig {
  std::vector<std::string> fractions{};  // of training, validation and test; empty: as the data say
  int64_t folds = 0;                     // 0: none
  std::vector<std::string> link_fractions{};  // of pairs that are linked; empty: none are hidden
  uint64_t seed = 1;
};

struct GraphStoreConfig {
  GraphFilesConfig files{};
  MadeGraphsConfig made{};
  GraphSplitConfig split{};
  PositionsConfig positions{};
  std::string output{};
  bool replace = false;  // a store that is there already
  int threads = 0;       // 0: one a processor
};
// Binds section "graphs".
void bind(Options& options, GraphStoreConfig& config);

// Draws by the seed and the number of each alone: fractions of all, in a random order; or folds of
// equal sizes, in each of which classes have their shares (as Errica and others, 2020, divide). A
// usage error for fractions that are none, fewer than 2 folds or more than there are, and where the
// data say a split already. Links are divided by fractions beside that, in each graph by itself,
// both ways alike; those of nodes with themselves are for training.
void draw_split(GraphSet& set, const GraphSplitConfig& config);

struct GraphCounts {
  int64_t graphs = 0, nodes = 0, links = 0;
  std::vector<std::string> columns{};
  std::optional<double> block_accuracy{};  // of made communities
  double seconds = 0;
};

// Reads or makes them, and writes the store, which depends on the input and the options alone.
// Usage errors as read_graphs, made_graphs, draw_split and positions_of; nothing is then left
// behind or changed.
GraphCounts write_graph_store(const GraphStoreConfig& config);

// Links of one graph, as rows that gather.
struct GraphLinks {
  std::vector<int64_t> starts, columns;
};

// A store's graphs, as a run reads them.
class GraphRecords {
 public:
  // A usage error naming the store when it has no columns of links.
  explicit GraphRecords(std::shared_ptr<const Records> records);

  const Records& records() const { return *records_; }
  const std::shared_ptr<const Records>& shared() const { return records_; }
  int64_t count() const { return records_->count(); }
  int64_t nodes(int64_t record) const;
  // Usage errors where they lead out of the graph: the store is damaged.
  GraphLinks links(int64_t record) const;
  // The number of the column of a part; nothing where the store has none.
  std::optional<size_t> column(const std::string& name) const;
  // Of a column of categories. A usage error when they are more or fewer than the graph has nodes
  // or links.
  std::vector<int32_t> categories(GraphPart part, int64_t record) const;

 private:
  std::vector<uint32_t> whole_numbers(size_t column, int64_t record) const;

  std::shared_ptr<const Records> records_;
  size_t starts_column_, to_column_;
};

// Whether records are graphs.
bool holds_graphs(const Records& records);

}  // namespace skein::data
