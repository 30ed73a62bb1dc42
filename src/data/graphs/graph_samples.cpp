#include "skein/data/graphs/graph_samples.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/philox.h"

#include "graph_columns.h"

namespace skein::data {
namespace {

// Of stores that are trained on one by one, the numbers of their units; judged are all as one.
std::vector<std::vector<int64_t>> units_by_part(const std::vector<GraphUnit>& units, size_t parts,
                                                GraphOrder order) {
  std::vector<std::vector<int64_t>> made(order == GraphOrder::once ? 1 : parts);
  for (int64_t i = 0; i < std::ssize(units); ++i) {
    const int part = units[static_cast<size_t>(i)].part;
    made[order == GraphOrder::once ? 0 : static_cast<size_t>(part)].push_back(i);
  }
  return made;
}

std::vector<int64_t> sizes_of_parts(const std::vector<std::vector<int64_t>>& parts) {
  std::vector<int64_t> made;
  for (const auto& part : parts) made.push_back(std::ssize(part));
  return made;
}

std::vector<double> weights_of(const GraphBlend& blend, GraphOrder order) {
  return order == GraphOrder::once ? std::vector<double>{1} : blend.weights;
}

uint64_t epoch_key(uint64_t seed, const char* what, int64_t epoch) {
  return derive_key(derive_key(seed, what), fmt::format("epoch {}", epoch));
}

// A row of a batch's ids, of which each node takes the next place that is free.
class BagFiller {
 public:
  BagFiller(const Tensor& bags, int64_t row, int64_t nodes)
      : to_(bags.data<int32_t>() + row * bags.dim(1) * bags.dim(2)),
        width_(bags.dim(2)),
        used_(static_cast<size_t>(nodes)) {}
  void add(int64_t node, int64_t id) {
    const int64_t at = used_[static_cast<size_t>(node)]++;
    SKEIN_CHECK(at < width_);
    to_[node * width_ + at] = narrow<int32_t>(id);
  }

 private:
  int32_t* to_;
  int64_t width_;
  std::vector<int64_t> used_;
};

int64_t most_in_bags(const GraphRecords& store, const GraphForm& form, int64_t record) {
  int64_t made = 0;
  for (const GraphInput& input : form.inputs) {
    if (kind_of_input(input.column) != GraphInputKind::node_ids) continue;
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
  }
  return made;
}

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

}  // namespace

GraphSamples::GraphSamples(GraphBlend blend, std::vector<GraphUnit> units, const GraphForm& form,
                           const GraphSampling& sampling)
    : blend_(std::move(blend)),
      units_(std::move(units)),
      of_part_(units_by_part(units_, blend_.parts.size(), sampling.order)),
      form_(form),
      sizes_(form.sizes()),
      sampling_(sampling),
      of_pairs_(std::ranges::any_of(units_, [](const auto& one) { return !one.pairs.empty(); })),
      has_classes_(of_pairs_ || !sampling.labelled ||
                   !classes_of(blend_.parts.front(), form.of_nodes).empty()),
      order_(sizes_of_parts(of_part_), weights_of(blend_, sampling.order), sampling.seed,
             sampling.order == GraphOrder::shuffled) {
  measure();
}

void GraphSamples::measure() {
  for (const GraphUnit& unit : units_) {
    const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
    most_nodes_ = std::max(most_nodes_, store.nodes(unit.record));
    most_links_ = std::max(most_links_, std::ssize(store.links(unit.record).columns));
    most_bag_ = std::max(most_bag_, most_in_bags(store, form_, unit.record));
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
  return made;
}

void GraphSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  SampleIndex from{0, index % samples_per_epoch(), 0};
  if (sampling_.order != GraphOrder::once) from = order_.at(index);
  const int64_t number = of_part_[static_cast<size_t>(from.dataset)][from.sample];
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  const int64_t nodes = blend_.parts[static_cast<size_t>(unit.part)].nodes(unit.record);
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(nodes);
  std::fill_n(row_of<int32_t>(batch.segments, row), nodes, 0);
  fill_links(batch, row, unit);
  if (batch.bags.defined()) fill_ids(batch, row, unit);
  if (batch.features.defined())
    fill_numbers(batch, row, unit, {sampling_.seed, from.epoch, unit.record});
  if (batch.distances.defined()) fill_distances(batch, row, unit);
  if (of_pairs_) return fill_pairs(batch, row, number, from.epoch);
  fill_labels(batch, row, number);
}

namespace {

// values [rows,width] of those rows that are meant.
template <class Number>
std::vector<Number> chosen_rows(const std::vector<Number>& values, const std::vector<bool>& meant) {
  const size_t width = meant.empty() ? 0 : values.size() / meant.size();
  std::vector<Number> made;
  for (size_t i = 0; i < meant.size(); ++i)
    if (meant[i]) made.insert(made.end(), &values[i * width], &values[i * width] + width);
  return made;
}

}  // namespace

void GraphSamples::fill_links(const Batch& batch, int64_t row, const GraphUnit& unit) const {
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  const GraphLinks links = store.links(unit.record);
  const int64_t count = std::ssize(links.columns);
  const std::vector<bool> seen = sampling_.hides_links
                                     ? links_in_sight(store, unit.record)
                                     : std::vector<bool>(static_cast<size_t>(count), true);
  int32_t* to = batch.links.data<int32_t>() + row * most_links_ * 2;
  for (size_t node = 0; node + 1 < links.starts.size(); ++node)
    for (int64_t e = links.starts[node]; e < links.starts[node + 1]; ++e) {
      if (!seen[static_cast<size_t>(e)]) continue;
      *to++ = narrow<int32_t>(node);
      *to++ = narrow<int32_t>(links.columns[static_cast<size_t>(e)]);
    }
  if (batch.link_kinds.defined())
    std::ranges::copy(chosen_rows(store.categories(GraphPart::link_category, unit.record), seen),
                      row_of<int32_t>(batch.link_kinds, row));
  if (batch.link_values.defined())
    std::ranges::copy(
        chosen_rows(column_numbers(store, name_of(GraphPart::link_number), unit.record, count),
                    seen),
        batch.link_values.data<float>() + row * most_links_ * sizes_.link_numbers);
}

void GraphSamples::fill_ids(const Batch& batch, int64_t row, const GraphUnit& unit) const {
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  BagFiller filler(batch.bags, row, store.nodes(unit.record));
  int64_t before = 0;
  for (const GraphInput& input : form_.inputs) {
    if (kind_of_input(input.column) != GraphInputKind::node_ids) continue;
    each_id(store, input, unit.record,
            [&](int64_t node, int64_t id) { filler.add(node, before + id); });
    before += input.size;
  }
}

void GraphSamples::fill_numbers(const Batch& batch, int64_t row, const GraphUnit& unit,
                                const Key& key) const {
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  const int64_t nodes = store.nodes(unit.record), width = sizes_.node_numbers;
  const bool trains = sampling_.order != GraphOrder::once;
  float* const to = batch.features.data<float>() + row * most_nodes_ * width;
  const uint64_t stream =
      static_cast<uint64_t>(unit.part) << 40 | static_cast<uint64_t>(key.record);
  int64_t before = 0;
  for (const GraphInput& input : form_.inputs) {
    if (kind_of_input(input.column) != GraphInputKind::node_numbers) continue;
    const std::vector<float> from = column_numbers(store, input.column, unit.record, nodes);
    const bool turns = trains && input.column == kLaplacianColumn;
    const uint64_t signs = epoch_key(key.seed, "laplacian signs", key.epoch);
    for (int64_t i = 0; i < std::ssize(from); ++i) {
      const int64_t column = i % input.size;
      const bool turned = turns && (philox(signs, stream, column)[0] & 1U);
      const float one = from[static_cast<size_t>(i)];
      to[i / input.size * width + before + column] = turned ? -one : one;
    }
    before += input.size;
  }
  const uint64_t numbers = epoch_key(key.seed, "random numbers of nodes", key.epoch);
  for (int64_t node = 0; node < nodes; ++node)
    for (int64_t i = 0; i < form_.random; ++i)
      to[node * width + before + i] = normal_at(numbers, stream, node * form_.random + i);
}

void GraphSamples::fill_distances(const Batch& batch, int64_t row, const GraphUnit& unit) const {
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  const int64_t nodes = store.nodes(unit.record);
  const std::vector<uint8_t> from =
      column_bytes(store, kDistanceColumn, unit.record, nodes * nodes);
  int32_t* const to = batch.distances.data<int32_t>() + row * most_nodes_ * most_nodes_;
  for (int64_t node = 0; node < nodes; ++node)
    std::copy_n(from.data() + node * nodes, nodes, to + node * most_nodes_);
}

void GraphSamples::fill_labels(const Batch& batch, int64_t row, int64_t number) const {
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  int32_t* const places = row_of<int32_t>(batch.places, row);
  if (form_.of_nodes)
    std::ranges::copy(unit.nodes, places);
  else
    places[0] = 0;
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
  const bool trains = sampling_.order != GraphOrder::once;
  const char* const what = "pairs of nodes without a link";
  const PairDraw draw{
      .key = trains ? epoch_key(sampling_.seed, what, epoch) : derive_key(0, what),
      .stream = static_cast<uint64_t>(unit.part) << 40 | static_cast<uint64_t>(unit.record),
      .all = !trains};
  std::vector<NodePair> made = unit.pairs;
  std::ranges::copy(pairs_apart(blend_.parts[static_cast<size_t>(unit.part)], unit.record,
                                std::ssize(unit.pairs), draw),
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
  const GraphPart part = form_.of_nodes ? GraphPart::node_label : GraphPart::label;
  const std::vector<int32_t> all =
      blend_.parts[static_cast<size_t>(unit.part)].categories(part, unit.record);
  if (!form_.of_nodes) return all;
  std::vector<int32_t> made;
  for (const int32_t node : unit.nodes) made.push_back(all[static_cast<size_t>(node)]);
  return made;
}

std::vector<double> GraphSamples::numbers(int64_t number) const {
  const GraphUnit& unit = units_[static_cast<size_t>(number)];
  const GraphRecords& store = blend_.parts[static_cast<size_t>(unit.part)];
  const GraphPart part = form_.of_nodes ? GraphPart::node_label : GraphPart::label;
  const std::vector<float> all = column_numbers(store, name_of(part), unit.record,
                                                form_.of_nodes ? store.nodes(unit.record) : 1);
  if (!form_.of_nodes) return {all.begin(), all.end()};
  std::vector<double> made;
  for (const int32_t node : unit.nodes) made.push_back(all[static_cast<size_t>(node)]);
  return made;
}

}  // namespace skein::data
