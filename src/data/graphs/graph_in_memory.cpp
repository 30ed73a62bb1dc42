#include "graph_in_memory.h"

#include <algorithm>
#include <unordered_map>

#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/data/graphs/link_pairs.h"

#include "graph_columns.h"

namespace skein::data {
namespace {

// Calls add(node, id) for each id of a column.
template <class Add>
void each_id(const GraphRecords& store, const GraphInput& input, int64_t record, const Add& add) {
  const int64_t nodes = store.nodes(record);
  if (input.column == name_of(GraphPart::node_category)) {
    const std::vector<int32_t> ids = store.categories(GraphPart::node_category, record);
    for (int64_t node = 0; node < nodes; ++node) add(node, ids[static_cast<size_t>(node)]);
  } else if (input.column == name_of(GraphPart::node_bag)) {
    const NodeBags bags = bags_of(store, record);
    for (int64_t node = 0; node < nodes; ++node)
      for (uint32_t i = bags.starts[static_cast<size_t>(node)];
           i < bags.starts[static_cast<size_t>(node) + 1]; ++i)
        add(node, bags.ids[i]);
  } else if (input.column == kColourColumn) {
    const std::vector<uint32_t> colours = column_whole_numbers(store, kColourColumn, record, nodes);
    const int64_t rounds = width_of_column(store, kColourColumn), each = input.size / rounds;
    for (int64_t i = 0; i < std::ssize(colours); ++i)
      add(i / rounds, i % rounds * each + colours[static_cast<size_t>(i)]);
  } else {
    for (int64_t node = 0; node < nodes; ++node) add(node, 0);
  }
}

// Calls use(input, before) for each column of that kind; before: the sizes of those ahead of it.
template <class Use>
void each_input(const GraphForm& form, GraphInputKind kind, const Use& use) {
  int64_t before = 0;
  for (const GraphInput& input : form.inputs) {
    if (kind_of_input(input.column) != kind) continue;
    use(input, before);
    before += input.size;
  }
}

void take_bags(const GraphRecords& store, const GraphForm& form, int64_t record,
               GraphInMemory& made) {
  std::vector<std::pair<int64_t, int32_t>> all;  // node and id
  each_input(form, GraphInputKind::node_ids, [&](const GraphInput& input, int64_t before) {
    each_id(store, input, record, [&](int64_t node, int64_t id) {
      all.emplace_back(node, narrow<int32_t>(before + id));
    });
  });
  made.bag_starts.assign(static_cast<size_t>(made.nodes) + 1, 0);
  for (const auto& [node, id] : all) ++made.bag_starts[static_cast<size_t>(node) + 1];
  for (size_t node = 0; node + 1 < made.bag_starts.size(); ++node)
    made.bag_starts[node + 1] += made.bag_starts[node];
  std::vector<int64_t> next(made.bag_starts.begin(), made.bag_starts.end() - 1);
  made.bags.resize(all.size());
  for (const auto& [node, id] : all)
    made.bags[static_cast<size_t>(next[static_cast<size_t>(node)]++)] = id;
}

void take_numbers(const GraphRecords& store, const GraphForm& form, int64_t record,
                  GraphInMemory& made) {
  const int64_t width = form.sizes().node_numbers - form.random;
  made.numbers.resize(static_cast<size_t>(made.nodes * width));
  each_input(form, GraphInputKind::node_numbers, [&](const GraphInput& input, int64_t before) {
    const std::vector<float> from = column_numbers(store, input.column, record, made.nodes);
    for (int64_t node = 0; node < made.nodes; ++node)
      std::copy_n(from.data() + node * input.size, input.size,
                  made.numbers.data() + node * width + before);
  });
}

void take_labels(const GraphRecords& store, int64_t record, GraphInMemory& made) {
  const char* const column = name_of(GraphPart::node_label);
  if (names_of_column(store, column).empty())
    made.values = column_numbers(store, column, record, made.nodes);
  else
    made.classes = store.categories(GraphPart::node_label, record);
}

SeenNodes all_in_sight(const GraphLinks& links, int64_t nodes, const std::vector<bool>& seen) {
  SeenNodes made;
  for (int32_t node = 0; node < nodes; ++node) {
    made.nodes.push_back(node);
    for (int64_t e = links.starts[static_cast<size_t>(node)];
         e < links.starts[static_cast<size_t>(node) + 1]; ++e) {
      if (!seen.empty() && !seen[static_cast<size_t>(e)]) continue;
      made.rows.push_back(node);
      made.columns.push_back(narrow<int32_t>(links.columns[static_cast<size_t>(e)]));
      made.links.push_back(e);
    }
  }
  return made;
}

}  // namespace

GraphInMemory graph_in_memory(const GraphRecords& store, const GraphForm& form, int64_t record,
                              const GraphReading& reading) {
  GraphInMemory made;
  made.nodes = store.nodes(record);
  made.links = store.links(record);
  made.all =
      all_in_sight(made.links, made.nodes,
                   reading.hides_links ? links_in_sight(store, record) : std::vector<bool>());
  const GraphSizes sizes = form.sizes();
  if (sizes.node_ids > 0) take_bags(store, form, record, made);
  if (sizes.node_numbers > form.random) take_numbers(store, form, record, made);
  if (sizes.link_kinds > 0) made.link_kinds = store.categories(GraphPart::link_category, record);
  if (sizes.link_numbers > 0)
    made.link_values = column_numbers(store, name_of(GraphPart::link_number), record,
                                      std::ssize(made.links.columns));
  each_input(form, GraphInputKind::distances, [&](const GraphInput& input, int64_t /*before*/) {
    made.distances = column_bytes(store, input.column, record, made.nodes * made.nodes);
  });
  if (reading.node_labels) take_labels(store, record, made);
  return made;
}

int64_t most_in_bags(const GraphRecords& store, const GraphForm& form, int64_t record) {
  int64_t made = 0;
  each_input(form, GraphInputKind::node_ids, [&](const GraphInput& input, int64_t /*before*/) {
    if (input.column == kColourColumn) made += width_of_column(store, input.column);
    if (input.column == name_of(GraphPart::node_bag)) {
      const std::vector<uint32_t> starts = bags_of(store, record).starts;
      int64_t most = 0;
      for (size_t i = 1; i < starts.size(); ++i)
        most = std::max<int64_t>(most, starts[i] - starts[i - 1]);
      made += most;
    } else if (input.column != kColourColumn) {
      ++made;
    }
  });
  return made;
}

namespace {

// Of `from` numbers `count`, in their order. Floyd's way: the i-th draw is among those up to
// from - count + i, and takes that one itself where it finds what is taken already.
std::vector<int64_t> some_of(std::vector<int64_t> from, int64_t count, uint64_t key,
                             uint64_t stream) {
  if (std::ssize(from) <= count) return from;
  std::vector<int64_t> places;
  for (int64_t last = std::ssize(from) - count; last < std::ssize(from); ++last) {
    const PhiloxBlock bits = philox(key, stream, static_cast<uint64_t>(last));
    const auto drawn =
        static_cast<int64_t>(uniform_double(bits[0], bits[1]) * static_cast<double>(last + 1));
    places.push_back(std::ranges::find(places, drawn) == places.end() ? drawn : last);
  }
  std::ranges::sort(places);
  std::vector<int64_t> made;
  for (const int64_t place : places) made.push_back(from[static_cast<size_t>(place)]);
  return made;
}

class Drawer {
 public:
  Drawer(const GraphLinks& links, int64_t node, uint64_t key)
      : links_(links), key_(key), first_(static_cast<uint64_t>(node)) {
    place_of(narrow<int32_t>(node));
  }
  // From the nodes that have come last on.
  void hop(int64_t count) {
    const int64_t last = std::ssize(made_.nodes);
    for (; begun_ < last; ++begun_) draw_for(begun_, count);
  }
  SeenNodes take() { return std::move(made_); }

 private:
  int32_t place_of(int32_t node) {
    const auto [at, fresh] = places_.emplace(node, narrow<int32_t>(std::ssize(made_.nodes)));
    if (fresh) made_.nodes.push_back(node);
    return at->second;
  }
  int32_t end_of(int64_t link) const {
    return narrow<int32_t>(links_.columns[static_cast<size_t>(link)]);
  }
  void draw_for(int64_t place, int64_t count) {
    const int32_t node = made_.nodes[static_cast<size_t>(place)];
    std::vector<int64_t> own, others;
    for (int64_t e = links_.starts[static_cast<size_t>(node)];
         e < links_.starts[static_cast<size_t>(node) + 1]; ++e)
      (end_of(e) == node ? own : others).push_back(e);
    others = some_of(std::move(others), count, key_, first_ << 32 | static_cast<uint32_t>(node));
    std::vector<int64_t> kept;
    std::ranges::merge(own, others, std::back_inserter(kept));
    for (const int64_t link : kept) {
      made_.rows.push_back(narrow<int32_t>(place));
      made_.columns.push_back(place_of(end_of(link)));
      made_.links.push_back(link);
    }
  }

  const GraphLinks& links_;
  uint64_t key_, first_;
  SeenNodes made_;
  std::unordered_map<int32_t, int32_t> places_;
  int64_t begun_ = 0;
};

}  // namespace

SeenNodes drawn_nodes(const GraphLinks& links, int64_t node, const std::vector<int64_t>& neighbours,
                      uint64_t key) {
  Drawer drawer(links, node, key);
  for (const int64_t count : neighbours) drawer.hop(count);
  return drawer.take();
}

}  // namespace skein::data
