// Links of edges. Without direction the edges of a pair of nodes are those of one way and those of
// the other way; either side alone says all, and where both are there they must say the same.
#include <algorithm>
#include <numeric>

#include "skein/core/error.h"

#include "graph_builder.h"

namespace skein::data {
namespace {

constexpr GraphPart kLinkParts[] = {GraphPart::link_category, GraphPart::link_number};

struct Arc {
  int64_t row, column, edge;  // edge: -1 for a loop that was added
  auto operator<=>(const Arc&) const = default;
};

class Linker {
 public:
  Linker(ReadGraph& read, const GraphFilesConfig& config) : read_(read), config_(config) {}

  void link() {
    for (const Edge& edge : read_.edges) check(edge);
    std::vector<int64_t> order(read_.edges.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [&](int64_t edge) { return std::pair(pair_of(edge), edge); });
    for (auto begin = order.begin(); begin != order.end();) {
      const auto end = std::find_if(begin, order.end(),
                                    [&](int64_t edge) { return pair_of(edge) != pair_of(*begin); });
      add_pair({begin, end});
      begin = end;
    }
    if (config_.self_loops == SelfLoops::add) add_loops();
    std::ranges::sort(arcs_);
    store();
  }

 private:
  void check(const Edge& edge) const {
    for (const int64_t node : {edge.from, edge.to})
      require(node >= 0 && node < read_.graph.nodes,
              "{}: a link of the nodes {} and {}, but the graph has {} nodes, counted from 0",
              read_.where(edge), edge.from, edge.to, read_.graph.nodes);
  }

  std::pair<int64_t, int64_t> pair_of(int64_t number) const {
    const Edge& edge = read_.edges[number];
    return config_.directed ? std::pair(edge.from, edge.to) : std::minmax({edge.from, edge.to});
  }

  // All edges of a pair, in the order of the input.
  void add_pair(std::vector<int64_t> edges) {
    const auto [low, high] = pair_of(edges.front());
    if (low == high && config_.self_loops == SelfLoops::drop) return;
    const int64_t first = low;
    const auto back = std::stable_partition(
        edges.begin(), edges.end(), [&](int64_t edge) { return read_.edges[edge].from == first; });
    const std::vector<int64_t> there = once({edges.begin(), back}),
                               again = once({back, edges.end()});
    for (size_t i = 0; i < std::min(there.size(), again.size()); ++i)
      check_same(there[i], again[i]);
    for (const int64_t edge : there.size() >= again.size() ? there : again) {
      arcs_.push_back({high, low, edge});
      if (!config_.directed && low != high) arcs_.push_back({low, high, edge});
    }
  }

  std::vector<int64_t> once(std::vector<int64_t> edges) const {
    if (edges.size() < 2 || config_.duplicates == Duplicates::keep) return edges;
    const Edge &first = read_.edges[edges[0]], &second = read_.edges[edges[1]];
    require(config_.duplicates == Duplicates::drop,
            "{}: the link of the nodes {} and {} was there already, at {}; give "
            "graphs.duplicates=drop or keep",
            read_.where(second), first.from, first.to, read_.where(first));
    return {edges[0]};
  }

  void check_same(int64_t one, int64_t other) const {
    for (const GraphPart part : kLinkParts) {
      const GraphValues& values = read_.graph.of(part);
      bool same = values.ids.empty() || values.ids[one] == values.ids[other];
      const size_t width = values.numbers.size() / read_.edges.size();
      for (size_t i = 0; i < width; ++i)
        same = same && values.numbers[one * width + i] == values.numbers[other * width + i];
      require(
          same,
          "{}: the link of the nodes {} and {} has another value than the way back, at {}; give "
          "graphs.directed=true if they are two",
          read_.where(read_.edges[other]), read_.edges[other].from, read_.edges[other].to,
          read_.where(read_.edges[one]));
    }
  }

  void add_loops() {
    for (const GraphPart part : kLinkParts)
      require(read_.graph.of(part).ids.empty() && read_.graph.of(part).numbers.empty(),
              "graphs.self_loops=add makes links without a {}, which the links of {} have",
              name_of(part), read_.graph.name);
    std::vector<bool> looped(read_.graph.nodes);
    for (const Arc& arc : arcs_)
      if (arc.row == arc.column) looped[arc.row] = true;
    for (int64_t node = 0; node < read_.graph.nodes; ++node)
      if (!looped[node]) arcs_.push_back({node, node, -1});
  }

  void store() {
    Graph& graph = read_.graph;
    graph.link_starts.assign(graph.nodes + 1, 0);
    for (const Arc& arc : arcs_) {
      ++graph.link_starts[arc.row + 1];
      graph.link_to.push_back(static_cast<uint32_t>(arc.column));
    }
    std::partial_sum(graph.link_starts.begin(), graph.link_starts.end(), graph.link_starts.begin());
    for (const GraphPart part : kLinkParts) reorder(graph.of(part));
  }

  void reorder(GraphValues& values) const {
    if (values.ids.empty() && values.numbers.empty()) return;
    const GraphValues from = std::move(values);
    const size_t width = from.numbers.size() / read_.edges.size();
    values = {};
    for (const Arc& arc : arcs_) {
      if (!from.ids.empty()) values.ids.push_back(from.ids[arc.edge]);
      const auto row = from.numbers.begin() + arc.edge * width;
      values.numbers.insert(values.numbers.end(), row, row + width);
    }
  }

  ReadGraph& read_;
  const GraphFilesConfig& config_;
  std::vector<Arc> arcs_;
};

}  // namespace

void link_graph(ReadGraph& read, const GraphFilesConfig& config) { Linker(read, config).link(); }

}  // namespace skein::data
