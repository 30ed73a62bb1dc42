#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/core/strings.h"
#include "skein/data/graphs/graph_store.h"

namespace skein::data {
namespace {

constexpr int64_t kMostFolds = 100;

// What is divided: the ids of their labels, and where their split belongs.
struct Units {
  std::vector<int32_t> labels;
  GraphPart part;
};

Units units_of(const GraphSet& set) {
  if (set.graphs.size() == 1) {
    const Graph& graph = set.graphs.front();
    Units made{graph.of(GraphPart::node_label).ids, GraphPart::node_split};
    made.labels.resize(graph.nodes);
    return made;
  }
  Units made{{}, GraphPart::split};
  for (const Graph& graph : set.graphs) {
    const std::vector<int32_t>& ids = graph.of(GraphPart::label).ids;
    made.labels.push_back(ids.empty() ? 0 : ids.front());
  }
  return made;
}

std::vector<double> fractions_of(const char* option, const std::vector<std::string>& fractions) {
  std::vector<double> made;
  double sum = 0;
  for (const std::string& text : fractions) {
    const auto number = parsed_number<double>(skein::trimmed(text));
    require(number && *number >= 0 && *number <= 1, "{}={}: \"{}\" is no fraction; each is 0 to 1",
            option, listed(fractions), excerpt(text));
    made.push_back(*number);
    sum += *number;
  }
  require(made.size() == 3 && std::abs(sum - 1) < 1e-6,
          "{}={} are {} with the sum {:.6g}; give three, of training, validation and test, that "
          "add up to 1",
          option, listed(fractions), made.size(), sum);
  return made;
}

// Numbers of units in a random order; those of a label beside each other if by_label.
std::vector<int64_t> drawn_order(const Units& units, uint64_t seed, bool by_label) {
  const uint64_t key = derive_key(seed, "graphs.split");
  std::vector<int64_t> order(units.labels.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, {}, [&](int64_t unit) {
    const PhiloxBlock bits = philox(key, 0, unit);
    return std::tuple(by_label ? units.labels[unit] : 0, bits[0], unit);
  });
  return order;
}

void store_split(GraphSet& set, const Units& units, const std::vector<int32_t>& ids) {
  if (units.part == GraphPart::node_split) {
    set.graphs.front().of(units.part).ids = ids;
    return;
  }
  for (size_t i = 0; i < ids.size(); ++i) set.graphs[i].of(units.part).ids = {ids[i]};
}

void draw_folds(GraphSet& set, const Units& units, const GraphSplitConfig& config) {
  const int64_t count = std::ssize(units.labels);
  require(
      config.folds >= 3 && config.folds <= kMostFolds,
      "graphs.folds={} must be 3 to {}: one fold is tested on, one validates, and the others are "
      "learnt from",
      config.folds, kMostFolds);
  require(config.folds <= count, "graphs.folds={}, but there are only {} {}", config.folds, count,
          units.part == GraphPart::split ? "graphs" : "nodes");
  std::vector<int32_t> ids(count);
  const std::vector<int64_t> order = drawn_order(units, config.seed, true);
  for (int64_t i = 0; i < count; ++i) ids[order[i]] = static_cast<int32_t>(i % config.folds);
  for (int64_t fold = 1; fold <= config.folds; ++fold)
    set.of(units.part).names.push_back(fmt::format("fold {}", fold));
  store_split(set, units, ids);
}

void draw_fractions(GraphSet& set, const Units& units, const GraphSplitConfig& config) {
  const int64_t count = std::ssize(units.labels);
  std::vector<int32_t> ids(count);
  const std::vector<double> fractions = fractions_of("graphs.fractions", config.fractions);
  const std::vector<int64_t> order = drawn_order(units, config.seed, false);
  const int64_t training = std::llround(fractions[0] * count);
  const int64_t validation = std::llround((fractions[0] + fractions[1]) * count);
  for (int64_t i = 0; i < count; ++i) ids[order[i]] = i < training ? 0 : i < validation ? 1 : 2;
  set.of(units.part).names = {kSplitNames.begin(), kSplitNames.end()};
  store_split(set, units, ids);
}

// The parts of a graph's pairs are of exact sizes; a pair's place in the order is a function of the
// seed, the graph and its nodes.
std::vector<int32_t> drawn_links(const Graph& graph, int64_t number,
                                 const std::vector<double>& fractions, uint64_t seed) {
  using Pair = std::pair<uint32_t, uint32_t>;
  const uint64_t key =
      derive_key(derive_key(seed, "graphs.link_fractions"), fmt::to_string(number));
  std::vector<Pair> pairs, of_link;
  for (uint32_t node = 0; node < graph.nodes; ++node)
    for (uint32_t e = graph.link_starts[node]; e < graph.link_starts[node + 1]; ++e) {
      of_link.emplace_back(std::minmax(node, graph.link_to[e]));
      if (node != graph.link_to[e]) pairs.push_back(of_link.back());
    }
  std::ranges::sort(pairs);
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  std::ranges::sort(pairs, {}, [&](const Pair& pair) {
    return std::pair(philox(key, pair.first, pair.second)[0], pair);
  });
  const auto count = std::ssize(pairs);
  const int64_t training = std::llround(fractions[0] * count);
  const int64_t validation = std::llround((fractions[0] + fractions[1]) * count);
  std::map<Pair, int32_t> part;
  for (int64_t i = 0; i < count; ++i) part[pairs[i]] = i < training ? 0 : i < validation ? 1 : 2;
  std::vector<int32_t> made;
  for (const Pair& pair : of_link) made.push_back(pair.first == pair.second ? 0 : part.at(pair));
  return made;
}

void draw_links(GraphSet& set, const GraphSplitConfig& config) {
  const std::vector<double> fractions =
      fractions_of("graphs.link_fractions", config.link_fractions);
  set.of(GraphPart::link_split).names = {kSplitNames.begin(), kSplitNames.end()};
  for (size_t i = 0; i < set.graphs.size(); ++i)
    set.graphs[i].of(GraphPart::link_split).ids =
        drawn_links(set.graphs[i], static_cast<int64_t>(i), fractions, config.seed);
}

}  // namespace

void draw_split(GraphSet& set, const GraphSplitConfig& config) {
  if (!config.link_fractions.empty()) draw_links(set, config);
  require(config.folds == 0 || config.fractions.empty(),
          "graphs.folds={} and graphs.fractions={} are two ways to divide; give one", config.folds,
          listed(config.fractions));
  if (config.folds == 0 && config.fractions.empty()) return;
  const Units units = units_of(set);
  require(!set.of(units.part).used(),
          "the data say a split already; give graphs.split= to leave it aside");
  if (config.folds != 0) return draw_folds(set, units, config);
  draw_fractions(set, units, config);
}

}  // namespace skein::data
