#include "skein/data/graphs/graph_samples.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"

#include "graph_columns.h"
#include "graph_in_memory.h"

namespace skein::data {
namespace {

// Of stores that are trained on one by one, the numbers of their units; judged are all as one.
std::vector<std::vector<int64_t>> units_by_part(const std::vector<GraphUnit>& units, size_t parts,
                                                OrderKind order) {
  std::vector<std::vector<int64_t>> made(order == OrderKind::once ? 1 : parts);
  for (int64_t i = 0; i < std::ssize(units); ++i) {
    const int part = units[static_cast<size_t>(i)].part;
    made[order == OrderKind::once ? 0 : static_cast<size_t>(part)].push_back(i);
  }
  return made;
}

std::vector<int64_t> sizes_of_parts(const std::vector<std::vector<int64_t>>& parts) {
  std::vector<int64_t> made;
  for (const auto& part : parts) made.push_back(std::ssize(part));
  return made;
}

std::vector<double> weights_of(const GraphBlend& blend, OrderKind order) {
  return order == OrderKind::once ? std::vector<double>{1} : blend.weights;
}

uint64_t epoch_key(uint64_t seed, const char* what, int64_t epoch) {
  return derive_key(derive_key(seed, what), fmt::format("epoch {}", epoch));
}

// How often a node is linked to itself at most.
int64_t most_loops(const GraphLinks& links) {
  int64_t most = 0;
  for (int64_t node = 0; node + 1 < std::ssize(links.starts); ++node) {
    const auto first = links.columns.begin() + links.starts[static_cast<size_t>(node)],
               last = links.columns.begin() + links.starts[static_cast<size_t>(node) + 1];
    most = std::max<int64_t>(most, std::count(first, last, node));
  }
  return most;
}

// A unit for each node.
std::vector<GraphUnit> by_node(const std::vector<GraphUnit>& units) {
  std::vector<GraphUnit> made;
  for (const GraphUnit& unit : units)
    for (const int32_t node : unit.nodes) made.push_back({unit.part, unit.record, {node}, {}});
  return made;
}

}  // namespace

GraphSamples::GraphSamples(GraphBlend blend, std::vector<GraphUnit> units, const GraphForm& form,
                           const GraphSampling& sampling)
    : blend_(std::move(blend)),
      units_(sampling.neighbours.empty() ? std::move(units) : by_node(units)),
      of_part_(units_by_part(units_, blend_.parts.size(), sampling.order)),
      form_(form),
      sizes_(form.sizes()),
      sampling_(sampling),
      of_pairs_(std::ranges::any_of(units_, [](const auto& one) { return !one.pairs.empty(); })),
      has_classes_(of_pairs_ || !sampling.labelled ||
                   !classes_of(blend_.parts.front(), form.of_nodes).empty()),
      order_(sizes_of_parts(of_part_), weights_of(blend_, sampling.order), sampling.seed,
             sampling.order) {
  SKEIN_CHECK(sampling.neighbours.empty() || form.of_nodes);
  keep_graphs();
  measure();
}

std::shared_ptr<const GraphInMemory> GraphSamples::graph_of(const GraphUnit& unit) const {
  const auto kept = kept_.find({unit.part, unit.record});
  if (kept != kept_.end()) return kept->second;
  return std::make_shared<GraphInMemory>(graph_in_memory(
      blend_.parts[static_cast<size_t>(unit.part)], form_, unit.record, {sampling_.hides_links}));
}

// One graph that is read again and again is large; many are read once an epoch each.
void GraphSamples::keep_graphs() {
  std::map<std::pair<int, int64_t>, const GraphUnit*> all;
  for (const GraphUnit& unit : units_) all[{unit.part, unit.record}] = &unit;
  if (sampling_.neighbours.empty() && all.size() > 1) return;
  const GraphReading reading{sampling_.hides_links,
                             form_.of_nodes && sampling_.labelled && !of_pairs_};
  for (const auto& [place, unit] : all)
    kept_[place] = std::make_shared<GraphInMemory>(graph_in_memory(
        blend_.parts[static_cast<size_t>(unit->part)], form_, unit->record, reading));
}

// Of a graph; where neighbours are drawn, the most that this can make of it.
void GraphSamples::take_size(const GraphUnit& unit) {
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  if (sampling_.neighbours.empty()) {
    most_nodes_ = std::max(most_nodes_, store.nodes(unit.record));
    most_links_ = std::max(most_links_, std::ssize(store.links(unit.record).columns));
    return;
  }
  const auto graph = graph_of(unit);
  const int64_t nodes = graph->nodes, links = std::ssize(graph->links.columns),
                loops = most_loops(graph->links);
  int64_t last = 1, drawn = 1, drawn_links = 0;  // last: nodes of the hop before
  for (const int64_t count : sampling_.neighbours) {
    drawn_links = std::min(links, drawn_links + last * (std::min(count, links) + loops));
    last = std::min(nodes, last * std::min(count, nodes));
    drawn = std::min(nodes, drawn + last);
  }
  most_nodes_ = std::max(most_nodes_, drawn);
  most_links_ = std::max(most_links_, drawn_links);
}

void GraphSamples::measure() {
  std::pair<int, int64_t> measured{-1, 0};
  for (const GraphUnit& unit : units_) {
    const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
    if (measured != std::pair(unit.part, unit.record)) {
      measured = {unit.part, unit.record};
      take_size(unit);
      most_bag_ = std::max(most_bag_, most_in_bags(store, form_, unit.record));
    }
    if (of_pairs_)
      most_places_ = std::max(most_places_, 2 * std::ssize(unit.pairs));
    else if (form_.of_nodes)
      most_places_ = std::max(most_places_, std::ssize(unit.nodes));
  }
}

Batch GraphSamples::empty_batch(int64_t count) const {
  Batch made = padded_batch(
      count, {.length = most_nodes_, .places = of_pairs_ ? 1 : most_places_, .segments = true});
  if (of_pairs_) {
    made.targets = filled(count, most_places_, 0);
    made.weights = Tensor::zeros({count, most_places_}, DType::f32);
    made.source.links =
        Tensor::from(std::vector<int32_t>(count * most_places_ * 2, -1), {count, most_places_, 2});
  }
  made.links =
      Tensor::from(std::vector<int32_t>(count * most_links_ * 2, -1), {count, most_links_, 2});
  if (most_bag_ > 0)
    made.bags = Tensor::from(std::vector<int32_t>(count * most_nodes_ * most_bag_, -1),
                             {count, most_nodes_, most_bag_});
  if (sizes_.node_numbers > 0)
    made.features = Tensor::zeros({count, most_nodes_, sizes_.node_numbers}, DType::f32);
  if (sizes_.link_kinds > 0) made.link_kinds = filled(count, most_links_, -1);
  if (sizes_.link_numbers > 0)
    made.link_values = Tensor::zeros({count, most_links_, sizes_.link_numbers}, DType::f32);
  for (const GraphInput& input : form_.inputs)
    if (kind_of_input(input.column) == GraphInputKind::distances)
      made.distances = Tensor::from(std::vector<int32_t>(count * most_nodes_ * most_nodes_, -1),
                                    {count, most_nodes_, most_nodes_});
  if (!has_classes_) made.values = Tensor::zeros({count, most_places_}, DType::f32);
  if (!sampling_.neighbours.empty()) made.types = filled(count, most_nodes_, 0);
  return made;
}

void GraphSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  SampleIndex from{0, index % samples_per_epoch(), 0};
  if (sampling_.order != OrderKind::once) from = order_.at(index);
  const int64_t number = of_part_[static_cast<size_t>(from.dataset)][from.sample];
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  const auto graph = graph_of(unit);
  const bool trains = sampling_.order != OrderKind::once;
  const Key key{trains ? sampling_.seed : 0, from.epoch, unit.record};
  if (sampling_.neighbours.empty()) {
    fill_graph(batch, row, unit, *graph, graph->all, key);
  } else {
    const SeenNodes drawn = drawn_nodes(graph->links, unit.nodes.front(), sampling_.neighbours,
                                        key_of_neighbours(unit, from.epoch));
    fill_graph(batch, row, unit, *graph, drawn, key);
    fill_link_counts(batch, row, *graph, drawn);
  }
  if (of_pairs_) return fill_pairs(batch, row, number, from.epoch);
  fill_labels(batch, row, number);
}

uint64_t GraphSamples::key_of_neighbours(const GraphUnit& unit, int64_t epoch) const {
  const bool trains = sampling_.order != OrderKind::once;
  return derive_key(epoch_key(trains ? sampling_.seed : 0, "neighbours", trains ? epoch : 0),
                    fmt::format("part {} graph {}", unit.part, unit.record));
}

void GraphSamples::fill_graph(const Batch& batch, int64_t row, const GraphUnit& unit,
                              const GraphInMemory& graph, const SeenNodes& seen,
                              const Key& key) const {
  const int64_t nodes = std::ssize(seen.nodes);
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(nodes);
  std::fill_n(row_of<int32_t>(batch.segments, row), nodes, 0);
  fill_links(batch, row, graph, seen);
  if (batch.bags.defined()) fill_ids(batch, row, graph, seen);
  if (batch.features.defined()) fill_numbers(batch, row, unit, graph, seen, key);
  if (!batch.distances.defined()) return;
  int32_t* const to = batch.distances.data<int32_t>() + row * most_nodes_ * most_nodes_;
  for (int64_t node = 0; node < nodes; ++node)
    std::copy_n(graph.distances.data() + node * nodes, nodes, to + node * most_nodes_);
}

void GraphSamples::fill_links(const Batch& batch, int64_t row, const GraphInMemory& graph,
                              const SeenNodes& seen) const {
  SKEIN_CHECK(std::ssize(seen.links) <= most_links_ && std::ssize(seen.nodes) <= most_nodes_);
  int32_t* to = batch.links.data<int32_t>() + row * most_links_ * 2;
  for (size_t i = 0; i < seen.links.size(); ++i) {
    *to++ = seen.rows[i];
    *to++ = seen.columns[i];
  }
  if (batch.link_kinds.defined())
    for (size_t i = 0; i < seen.links.size(); ++i)
      row_of<int32_t>(batch.link_kinds, row)[i] =
          graph.link_kinds[static_cast<size_t>(seen.links[i])];
  const int64_t width = sizes_.link_numbers;
  if (batch.link_values.defined())
    for (int64_t i = 0; i < std::ssize(seen.links); ++i)
      std::copy_n(graph.link_values.data() + seen.links[static_cast<size_t>(i)] * width, width,
                  batch.link_values.data<float>() + (row * most_links_ + i) * width);
}

// How many links the whole graph has at each node.
void GraphSamples::fill_link_counts(const Batch& batch, int64_t row, const GraphInMemory& graph,
                                    const SeenNodes& seen) const {
  for (size_t i = 0; i < seen.nodes.size(); ++i) {
    const auto node = static_cast<size_t>(seen.nodes[i]);
    row_of<int32_t>(batch.types, row)[i] =
        narrow<int32_t>(graph.links.starts[node + 1] - graph.links.starts[node]);
  }
}

void GraphSamples::fill_ids(const Batch& batch, int64_t row, const GraphInMemory& graph,
                            const SeenNodes& seen) const {
  int32_t* to = batch.bags.data<int32_t>() + row * most_nodes_ * most_bag_;
  for (const int32_t node : seen.nodes) {
    const int64_t first = graph.bag_starts[static_cast<size_t>(node)],
                  count = graph.bag_starts[static_cast<size_t>(node) + 1] - first;
    SKEIN_CHECK(count <= most_bag_);
    std::copy_n(graph.bags.data() + first, count, to);
    to += most_bag_;
  }
}

void GraphSamples::fill_numbers(const Batch& batch, int64_t row, const GraphUnit& unit,
                                const GraphInMemory& graph, const SeenNodes& seen,
                                const Key& key) const {
  const int64_t width = sizes_.node_numbers, known = width - form_.random;
  float* const to = batch.features.data<float>() + row * most_nodes_ * width;
  const uint64_t stream =
                     static_cast<uint64_t>(unit.part) << 40 | static_cast<uint64_t>(key.record),
                 numbers = epoch_key(key.seed, "random numbers of nodes", key.epoch);
  const std::vector<float> signs = signs_of(key, stream);
  for (int64_t place = 0; place < std::ssize(seen.nodes); ++place) {
    const int64_t node = seen.nodes[static_cast<size_t>(place)];
    float* const mine = to + place * width;
    for (int64_t i = 0; i < known; ++i)
      mine[i] =
          signs[static_cast<size_t>(i)] * graph.numbers[static_cast<size_t>(node * known + i)];
    for (int64_t i = 0; i < form_.random; ++i)
      mine[known + i] = normal_at(numbers, stream, node * form_.random + i);
  }
}

// Of each number of a node: -1 turns it.
std::vector<float> GraphSamples::signs_of(const Key& key, uint64_t stream) const {
  const bool trains = sampling_.order != OrderKind::once;
  const uint64_t signs = epoch_key(key.seed, "laplacian signs", key.epoch);
  std::vector<float> made;
  for (const GraphInput& input : form_.inputs) {
    if (kind_of_input(input.column) != GraphInputKind::node_numbers) continue;
    const bool turns = trains && input.column == kLaplacianColumn;
    for (int64_t column = 0; column < input.size; ++column)
      made.push_back(turns && (philox(signs, stream, column)[0] & 1U) ? -1.0F : 1.0F);
  }
  return made;
}

void GraphSamples::fill_labels(const Batch& batch, int64_t row, int64_t number) const {
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  int32_t* const places = row_of<int32_t>(batch.places, row);
  if (form_.of_nodes && sampling_.neighbours.empty())
    std::ranges::copy(unit.nodes, places);
  else
    places[0] = 0;  // of drawn nodes the first is the one that is meant
  if (!sampling_.labelled) return;
  if (has_classes_) {
    const std::vector<int32_t> truth = classes(number);
    std::ranges::copy(truth, row_of<int32_t>(batch.targets, row));
    std::fill_n(row_of<float>(batch.weights, row), truth.size(), 1.0F);
    return;
  }
  const std::vector<double> truth = numbers(number);
  for (size_t i = 0; i < truth.size(); ++i)
    row_of<float>(batch.values, row)[i] =
        static_cast<float>((truth[i] - sampling_.units.mean) / sampling_.units.deviation);
  std::fill_n(row_of<float>(batch.weights, row), truth.size(), 1.0F);
}

void GraphSamples::fill_pairs(const Batch& batch, int64_t row, int64_t number,
                              int64_t epoch) const {
  *row_of<int32_t>(batch.places, row) = 0;
  int32_t* to = batch.source.links.data<int32_t>() + row * most_places_ * 2;
  for (const auto& [low, high] : pairs(number, epoch)) {
    *to++ = low;
    *to++ = high;
  }
  if (!sampling_.labelled) return;
  const std::vector<int32_t> truth = classes(number);
  std::ranges::copy(truth, row_of<int32_t>(batch.targets, row));
  std::fill_n(row_of<float>(batch.weights, row), truth.size(), 1.0F);
}

std::vector<NodePair> GraphSamples::pairs(int64_t number, int64_t epoch) const {
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  const bool trains = sampling_.order != OrderKind::once;
  const char* const what = "pairs of nodes without a link";
  const uint64_t key = trains
                           ? epoch_key(sampling_.seed, what, epoch)
                           : derive_key(0, fmt::format("{}, {}", what, static_cast<int>(unit.use)));
  std::vector<NodePair> made = unit.pairs;
  // Who learns does not know of links that are held out.
  std::ranges::copy(
      pairs_apart(trains ? unit.pairs : unit.all_pairs,
                  narrow<int32_t>(blend_.parts[static_cast<size_t>(unit.part)].nodes(unit.record)),
                  std::ssize(unit.pairs), key,
                  static_cast<uint64_t>(unit.part) << 40 | static_cast<uint64_t>(unit.record)),
      std::back_inserter(made));
  return made;
}

std::vector<int32_t> GraphSamples::classes(int64_t number) const {
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  if (of_pairs_) {
    std::vector<int32_t> made(2 * unit.pairs.size());
    std::fill_n(made.begin(), unit.pairs.size(), 1);
    return made;
  }
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  if (!form_.of_nodes) return store.categories(GraphPart::label, unit.record);
  const auto kept = kept_.find({unit.part, unit.record});
  const bool known = kept != kept_.end() && !kept->second->classes.empty();
  std::vector<int32_t> read;
  if (!known) read = store.categories(GraphPart::node_label, unit.record);
  const std::vector<int32_t>& all = known ? kept->second->classes : read;
  std::vector<int32_t> made;
  for (const int32_t node : unit.nodes) made.push_back(all[static_cast<size_t>(node)]);
  return made;
}

std::vector<double> GraphSamples::numbers(int64_t number) const {
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  if (!form_.of_nodes) {
    const std::vector<float> one = column_numbers(store, name_of(GraphPart::label), unit.record, 1);
    return {one.begin(), one.end()};
  }
  const auto kept = kept_.find({unit.part, unit.record});
  const bool known = kept != kept_.end() && !kept->second->values.empty();
  std::vector<float> read;
  if (!known)
    read = column_numbers(store, name_of(GraphPart::node_label), unit.record,
                          store.nodes(unit.record));
  const std::vector<float>& all = known ? kept->second->values : read;
  std::vector<double> made;
  for (const int32_t node : unit.nodes) made.push_back(all[static_cast<size_t>(node)]);
  return made;
}

}  // namespace skein::data
