#include "skein/data/graphs/link_pairs.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/core/strings.h"
#include "skein/data/graphs/graph_samples.h"

#include "graph_columns.h"

namespace skein::data {
namespace {

constexpr int64_t kTries = 32;

// Of each link the number of its part in kSplitNames; empty where the store does not divide them.
std::vector<int32_t> parts_of(const GraphRecords& store, int64_t record) {
  const auto names = names_of_column(store, name_of(GraphPart::link_split));
  require(!names.empty(),
          "{} does not say which links are for training and for tests; make it with "
          "graphs.link_fractions=0.85,0.05,0.1",
          store.records().name());
  std::vector<int32_t> number;
  for (const std::string& name : names) {
    const auto* const found = std::ranges::find(kSplitNames, name);
    require(found != kSplitNames.end(), "{} is damaged: \"{}\" is no part of a split of links",
            store.records().name(), excerpt(name));
    number.push_back(static_cast<int32_t>(found - kSplitNames.begin()));
  }
  std::vector<int32_t> made;
  for (const int32_t id : store.categories(GraphPart::link_split, record))
    made.push_back(number[static_cast<size_t>(id)]);
  return made;
}

bool is_meant(int32_t part, GraphUse use) {
  return use == GraphUse::all || part == static_cast<int32_t>(use);
}

// Rising, none twice.
std::vector<NodePair> linked_pairs(const GraphRecords& store, int64_t record, GraphUse use) {
  const GraphLinks links = store.links(record);
  const std::vector<int32_t> parts = parts_of(store, record);
  std::vector<NodePair> made;
  for (int32_t node = 0; node + 1 < std::ssize(links.starts); ++node)
    for (int64_t e = links.starts[node]; e < links.starts[node + 1]; ++e) {
      const auto other = static_cast<int32_t>(links.columns[e]);
      if (node != other && is_meant(parts[e], use)) made.emplace_back(std::minmax(node, other));
    }
  std::ranges::sort(made);
  made.erase(std::unique(made.begin(), made.end()), made.end());
  return made;
}

void require_pairs_apart(const GraphRecords& store, int64_t record, int64_t linked) {
  const int64_t nodes = store.nodes(record);
  require(linked < nodes * (nodes - 1) / 2,
          "all {} nodes of graph {} of {} are linked with each other; there is no pair without a "
          "link to learn from",
          nodes, record, store.records().name());
}

}  // namespace

std::vector<GraphUnit> link_units(const GraphBlend& blend, GraphUse use) {
  std::vector<GraphUnit> made;
  for (size_t part = 0; part < blend.parts.size(); ++part) {
    const GraphRecords& store = blend.parts[part];
    for (int64_t record = 0; record < store.count(); ++record) {
      std::vector<NodePair> pairs = linked_pairs(store, record, use);
      if (pairs.empty()) continue;
      std::vector<NodePair> all = linked_pairs(store, record, GraphUse::all);
      require_pairs_apart(store, record, std::ssize(all));
      made.push_back({static_cast<int>(part), record, {}, std::move(pairs), std::move(all), use});
    }
  }
  return made;
}

std::vector<bool> links_in_sight(const GraphRecords& store, int64_t record) {
  const GraphLinks links = store.links(record);
  const std::vector<int32_t> parts = parts_of(store, record);
  std::vector<bool> made;
  for (int64_t node = 0; node + 1 < std::ssize(links.starts); ++node)
    for (int64_t e = links.starts[node]; e < links.starts[node + 1]; ++e)
      made.push_back(links.columns[e] == node || is_meant(parts[e], GraphUse::training));
  return made;
}

namespace {

// Where draws meet links alone, as in a graph of nearly all of them, the next pair that has none.
NodePair next_apart(NodePair from, int32_t nodes, const std::vector<NodePair>& linked) {
  for (NodePair pair = from;;) {
    if (++pair.second >= nodes) {
      pair.first = (pair.first + 1) % nodes;
      pair.second = pair.first + 1;
    }
    if (pair.second < nodes && !std::ranges::binary_search(linked, pair)) return pair;
  }
}

NodePair drawn_apart(int64_t number, int32_t nodes, const std::vector<NodePair>& linked,
                     uint64_t key, uint64_t stream) {
  const auto node = [nodes](uint32_t bits) {
    return static_cast<int32_t>(uint64_t{bits} * static_cast<uint64_t>(nodes) >> 32);
  };
  NodePair pair;
  for (int64_t i = 0; i < kTries; ++i) {
    const PhiloxBlock bits = philox(key, stream, number * kTries + i);
    pair = std::minmax(node(bits[0]), node(bits[1]));
    if (pair.first != pair.second && !std::ranges::binary_search(linked, pair)) return pair;
  }
  return next_apart(pair, nodes, linked);
}

}  // namespace

std::vector<NodePair> pairs_apart(const std::vector<NodePair>& linked, int32_t nodes, int64_t count,
                                  uint64_t key, uint64_t stream) {
  std::vector<NodePair> made;
  for (int64_t i = 0; i < count; ++i) made.push_back(drawn_apart(i, nodes, linked, key, stream));
  return made;
}

std::vector<std::string> inputs_beside_links(const GraphRecords& store,
                                             const std::vector<std::string>& wanted,
                                             const GraphUses& uses) {
  constexpr std::string_view kOfLinks[] = {kLaplacianColumn, kWalkColumn, kColourColumn,
                                           kDistanceColumn};
  const auto of_links = [&](const std::string& column) {
    return std::ranges::find(kOfLinks, column) != std::end(kOfLinks);
  };
  require(!uses.distances,
          "graph.target=links hides links, but model.graph_form=graphormer reads distances, which "
          "are made of all; give another model.graph_form");
  for (const std::string& column : wanted)
    require(!of_links(column),
            "graph.inputs names \"{}\", which is made of all links, also of those that "
            "graph.target=links hides; leave it out",
            column);
  if (!wanted.empty()) return wanted;
  std::vector<std::string> made;
  for (const std::string& column : input_columns(store, uses))
    if (!of_links(column)) made.push_back(column);
  if (made.empty()) made.emplace_back("one");
  return made;
}

}  // namespace skein::data
