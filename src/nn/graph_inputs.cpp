#include "skein/nn/graph_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "skein/core/numbers.h"
#include "skein/nn/link_attention.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"

#include "graph_pairs.h"

namespace skein {
namespace {

constexpr int kKeyBits = 24;

// Keys of what is counted from 0 in each sample, where something is dropped.
class Keys {
 public:
  Keys(const data::Batch& batch, bool drops)
      : ids_(drops ? batch.sample_ids.to(Device{}) : Tensor()) {}

  void add(int64_t sample, int64_t number) {
    if (!ids_.defined()) return;
    require(number < int64_t{1} << kKeyBits,
            "a graph has more than {} links, pairs or categories of nodes, and dropout tells no "
            "more apart; cut it into smaller ones, or set model.dropout=0 and "
            "model.attention_dropout=0",
            int64_t{1} << kKeyBits);
    made_.push_back(ids_.data<int64_t>()[sample] << kKeyBits | number);
  }
  Tensor on(Device device) const {
    return ids_.defined() ? Tensor::from(made_, {std::ssize(made_)}).to(device) : Tensor();
  }

 private:
  Tensor ids_;
  std::vector<int64_t> made_;
};

// Links of a batch, and where each is among its B*L.
struct NodeLinks {
  std::vector<kernels::Edge> edges;
  std::vector<int64_t> places;
};

NodeLinks links_in(const data::Batch& batch, Keys& keys) {
  const int64_t most = batch.links.dim(1), length = batch.length();
  const int32_t* end = batch.links.data<int32_t>();
  NodeLinks made;
  for (int64_t at = 0; at < batch.size() * most; ++at) {
    if (end[2 * at] < 0) continue;
    const int64_t sample = at / most;
    SKEIN_CHECK(end[2 * at] < length && end[2 * at + 1] >= 0 && end[2 * at + 1] < length);
    made.edges.push_back({sample * length + end[2 * at], sample * length + end[2 * at + 1]});
    made.places.push_back(at);
    keys.add(sample, at % most);
  }
  return made;
}

// All pairs of the nodes of each sample, of which it has `most` at most. A pair's number hangs on
// the sample alone, not on how long its row is padded.
NodeLinks pairs_in(const data::Batch& batch, const PairNeeds& needs, int64_t most, Keys& keys) {
  const int64_t length = batch.length() + (needs.virtual_node ? 1 : 0);
  NodeLinks made;
  for (int64_t sample = 0; sample < batch.size(); ++sample) {
    const int64_t nodes = nodes_of(batch, needs, sample);
    for (int64_t pair = 0; pair < nodes * nodes; ++pair) {
      made.edges.push_back({sample * length + pair / nodes, sample * length + pair % nodes});
      made.places.push_back(sample * most + pair);
      keys.add(sample, pair);
    }
  }
  return made;
}

// slots: B*L.
ops::Links links_to(const std::vector<int64_t>& places, int64_t slots, Device device) {
  std::vector<int64_t> starts(places.size() + 1);
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int64_t>(i);
  return kernels::make_links(starts, places, slots).to(device);
}

// Where neighbours were drawn, ends have as many links as in the whole graph, of which those that a
// row has are a part: they weigh for all, but that a node's with itself are always there.
Tensor weights_of_drawn(const data::Batch& batch, const ops::Links& links, DType dtype) {
  const Tensor counts = batch.types.to(Device{});
  const int32_t *const whole = counts.data<int32_t>(), *start = links.starts.data<int32_t>(),
                       *column = links.columns.data<int32_t>();
  std::vector<double> made;
  for (int64_t row = 0; row < links.row_count(); ++row) {
    const int64_t first = start[row], last = start[row + 1],
                  own = std::count(column + first, column + last, row);
    for (int64_t e = first; e < last; ++e) {
      const double here = whole[row], there = whole[column[e]],
                   stands_for = column[e] == row ? 1 : (here - own) / (last - first - own);
      made.push_back(there > 0 ? stands_for / std::sqrt(here * there) : 0);
    }
  }
  return Tensor::from(made, {links.size(), 1}).to(dtype);
}

void add_links(const data::Batch& batch, const GraphNeeds& needs, DType sums, GraphInputs& made,
               Device device) {
  Keys keys(batch, needs.drops);
  const NodeLinks found = links_in(batch, keys);
  const int64_t rows = batch.size() * batch.length();
  // Links of a row are neighbours already, so that their order stays.
  made.links = kernels::links_of_edges(found.edges, rows, rows);
  if (needs.weights == LinkWeights::mean) made.weights = mean_of_links(made.links, sums).to(device);
  if (needs.weights == LinkWeights::symmetric)
    made.weights = (batch.types.defined() ? weights_of_drawn(batch, made.links, sums)
                                          : symmetric_weights(made.links, sums))
                       .to(device);
  made.links = made.links.to(device);
  made.keys = keys.on(device);
  if (batch.link_kinds.defined() || batch.link_values.defined())
    made.places = links_to(found.places, batch.size() * batch.links.dim(1), device);
}

// The distinct ids of each sample, in rising order: a table's gradient is summed sample by sample.
class BagIds {
 public:
  // bags [B,N,M] i32.
  BagIds(const Tensor& bags, int64_t ids)
      : bags_(bags), length_(bags.dim(1)), slot_(static_cast<size_t>(ids)) {
    for (int64_t sample = 0; sample < bags.dim(0); ++sample) all_.push_back(ids_of(sample));
    for (const auto& one : all_) most_ = std::max(most_, std::ssize(one));
  }

  Tensor ids() const {
    const Tensor made = data::filled(std::ssize(all_), most_, -1);
    for (int64_t sample = 0; sample < std::ssize(all_); ++sample)
      std::ranges::copy(all_[static_cast<size_t>(sample)], data::row_of<int32_t>(made, sample));
    return made;
  }
  // Calls add(sample, row, column) for each category of each node.
  template <class Add>
  void each(const Add& add) {
    for (int64_t sample = 0; sample < std::ssize(all_); ++sample) {
      const auto& mine = all_[static_cast<size_t>(sample)];
      for (size_t i = 0; i < mine.size(); ++i) slot(mine[i]) = static_cast<int32_t>(i);
      for (int64_t node = 0; node < length_; ++node)
        for (const int32_t id : of(sample, node))
          if (id >= 0) add(sample, sample * length_ + node, sample * most_ + slot(id));
    }
  }

 private:
  int32_t& slot(int32_t id) { return slot_[static_cast<size_t>(id)]; }
  std::span<const int32_t> of(int64_t sample, int64_t node) const {
    const int64_t width = bags_.dim(2);
    return {bags_.data<int32_t>() + (sample * length_ + node) * width, static_cast<size_t>(width)};
  }
  std::vector<int32_t> ids_of(int64_t sample) const {
    std::vector<bool> there(slot_.size());
    for (int64_t node = 0; node < length_; ++node)
      for (const int32_t id : of(sample, node)) {
        SKEIN_CHECK(id < std::ssize(slot_));
        if (id >= 0) there[static_cast<size_t>(id)] = true;
      }
    std::vector<int32_t> made;
    for (size_t id = 0; id < there.size(); ++id)
      if (there[id]) made.push_back(static_cast<int32_t>(id));
    return made;
  }

  Tensor bags_;
  int64_t length_, most_ = 1;
  std::vector<int32_t> slot_;
  std::vector<std::vector<int32_t>> all_;
};

// Of bags [B,N,M] i32 in host memory, and without weights.
IdBags id_bags(const Tensor& bags, int64_t ids, Keys& keys) {
  BagIds distinct(bags, ids);
  std::vector<kernels::Edge> edges;
  std::vector<int64_t> counted(static_cast<size_t>(bags.dim(0)));
  distinct.each([&](int64_t sample, int64_t row, int64_t column) {
    edges.push_back({row, column});
    keys.add(sample, counted[static_cast<size_t>(sample)]++);
  });
  IdBags made;
  made.ids = distinct.ids();
  made.links = kernels::links_of_edges(edges, bags.dim(0) * bags.dim(1), made.ids.size());
  return made;
}

Tensor ones(int64_t count, DType dtype) {
  return Tensor::from(std::vector<double>(static_cast<size_t>(count), 1), {count, 1}).to(dtype);
}

// Of a pair its distance's row whole, and those of its path, which are behind it, in their mean.
Tensor path_weights(const ops::Links& links, DType dtype) {
  const Tensor made = Tensor::empty({links.size(), 1}, DType::f64);
  const int32_t* start = links.starts.data<int32_t>();
  for (int64_t e = 0; e < links.size(); ++e) {
    const int32_t row = links.rows.data<int32_t>()[e];
    made.data<double>()[e] = e == start[row] ? 1 : 1.0 / (start[row + 1] - start[row] - 1);
  }
  return made.to(dtype);
}

IdBags on(const IdBags& bags, const Tensor& weights, const Keys& keys, Device device) {
  return {bags.ids.to(device), bags.links.to(device), weights.to(device), keys.on(device)};
}

IdBags categories_in(const data::Batch& batch, const GraphNeeds& needs, DType sums, Device device) {
  Keys keys(batch, needs.drops);
  const IdBags made = id_bags(batch.bags, needs.node_ids, keys);
  return on(made,
            needs.mean_of_bags ? mean_of_links(made.links, sums) : ones(made.links.size(), sums),
            keys, device);
}

IdBags degrees_in(const data::Batch& batch, const PairNeeds& needs, DType sums, Device device) {
  Keys none(batch, false);
  const IdBags made = id_bags(degree_ids(batch, needs), 2 * (needs.degrees + 1), none);
  return on(made, ones(made.links.size(), sums), none, device);
}

void add_pairs(const data::Batch& batch, const GraphNeeds& needs, DType sums, GraphInputs& made,
               Device device) {
  const Tensor kinds = pair_kinds(batch, needs.pairs);
  const int64_t most = kinds.dim(1),
                rows = batch.size() * (batch.length() + (needs.pairs.virtual_node ? 1 : 0));
  Keys keys(batch, needs.drops), none(batch, false);
  const NodeLinks found = pairs_in(batch, needs.pairs, most, keys);
  made.links = kernels::links_of_edges(found.edges, rows, rows).to(device);
  made.places = links_to(found.places, batch.size() * most, device);
  made.keys = keys.on(device);
  const IdBags pairs = id_bags(kinds, count_of_kinds(needs.pairs), none);
  made.pairs = on(pairs, path_weights(pairs.links, sums), none, device);
}

}  // namespace

GraphInputs graph_inputs(const data::Batch& batch, const GraphNeeds& needs, DType sums,
                         Device device) {
  require(batch.links.defined(), "this model reads graphs, but was given texts or pictures");
  GraphInputs made;
  if (needs.pairs.all)
    add_pairs(batch, needs, sums, made, device);
  else
    add_links(batch, needs, sums, made, device);
  if (!needs.embeds) return made;
  if (needs.node_ids > 0) made.categories = categories_in(batch, needs, sums, device);
  if (needs.pairs.all) made.degrees = degrees_in(batch, needs.pairs, sums, device);
  return made;
}

namespace {

bool same_bytes(const Tensor& one, const Tensor& other) {
  if (!one.defined() || !other.defined()) return one.defined() == other.defined();
  return one.shape() == other.shape() && one.device() == Device{} && other.device() == Device{} &&
         std::memcmp(one.bytes_data(), other.bytes_data(), static_cast<size_t>(one.bytes())) == 0;
}

// Of all that tables are made of.
bool same_graph(const data::Batch& one, const data::Batch& other) {
  for (const auto field :
       {&data::Sequence::links, &data::Sequence::bags, &data::Sequence::lengths,
        &data::Sequence::types, &data::Sequence::distances, &data::Sequence::link_kinds})
    if (!same_bytes(one.*field, other.*field)) return false;
  return one.length() == other.length() && one.link_values.defined() == other.link_values.defined();
}

// In a single sample what is counted from 0 are the links themselves.
Tensor keys_of_one(const data::Batch& batch, const ops::Links& links, Device device) {
  Keys keys(batch, true);
  for (int64_t e = 0; e < links.size(); ++e) keys.add(0, e);
  return keys.on(device);
}

}  // namespace

std::shared_ptr<const GraphInputs> KeptGraphInputs::of(const data::Batch& batch,
                                                       const GraphNeeds& needs, DType sums,
                                                       Device device) const {
  if (batch.size() != 1 || !batch.links.defined())
    return std::make_shared<const GraphInputs>(graph_inputs(batch, needs, sums, device));
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!made_ || !same_graph(batch, batch_)) {
    made_ = nullptr;
    GraphNeeds tables = needs;
    tables.drops = false;
    made_ = std::make_shared<const GraphInputs>(graph_inputs(batch, tables, sums, device));
    batch_ = batch;
  }
  if (!needs.drops) return made_;
  auto made = std::make_shared<GraphInputs>(*made_);
  made->keys = keys_of_one(batch, made->links, device);
  if (made->categories.ids.defined())
    made->categories.keys = keys_of_one(batch, made->categories.links, device);
  return made;
}

Var sums_of(const IdBags& bags, const Weight& table, const Var& weights) {
  const Var rows = ops::embedding(bags.ids, table, 0);  // [B,U,C]
  const Shape& shape = rows.shape();
  const Var sums =
      ops::gather_sum(ops::reshape(rows, {shape[0] * shape[1], 1, shape[2]}), bags.links, weights);
  return ops::reshape(sums, {sums.shape()[0], shape[2]});
}

PooledNodes nodes_of_graphs(const data::Batch& batch, DType sums, Device device) {
  std::vector<int64_t> starts{0}, nodes;
  for (int64_t sample = 0; sample < batch.size(); ++sample) {
    for (int64_t node = 0; node < batch.lengths.data<int32_t>()[sample]; ++node)
      nodes.push_back(sample * batch.length() + node);
    starts.push_back(std::ssize(nodes));
  }
  const ops::Links links = kernels::make_links(starts, nodes, batch.size() * batch.length());
  return {links.to(device), mean_of_links(links, sums).to(device)};
}

namespace {

ops::Links ends_of_pairs(const data::Batch& batch, int64_t end) {
  const Tensor& pairs = batch.source.links;
  const int64_t each = pairs.dim(1), length = batch.length();
  std::vector<int64_t> starts{0}, rows;
  for (int64_t pair = 0; pair < batch.size() * each; ++pair) {
    const int64_t node = pairs.data<int32_t>()[2 * pair + end];
    if (node >= 0) rows.push_back(pair / each * length + node);
    starts.push_back(std::ssize(rows));
  }
  return kernels::make_links(starts, rows, batch.size() * length);
}

}  // namespace

PairedNodes pairs_of_graphs(const data::Batch& batch, Device device) {
  return {ends_of_pairs(batch, 0).to(device), ends_of_pairs(batch, 1).to(device)};
}

}  // namespace skein
