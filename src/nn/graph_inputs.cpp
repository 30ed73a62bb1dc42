#include "skein/nn/graph_inputs.h"

#include <algorithm>

#include "skein/core/numbers.h"
#include "skein/nn/link_attention.h"

namespace skein {
namespace {

constexpr int kKeyBits = 24;

// Keys of what is counted from 0 in each sample.
class Keys {
 public:
  explicit Keys(const data::Batch& batch) : ids_(batch.sample_ids.to(Device{})) {}

  void add(int64_t sample, int64_t number) {
    require(number < int64_t{1} << kKeyBits,
            "a graph has more than {} links, or categories of nodes, and dropout tells no more "
            "apart; cut it into smaller ones, or set model.dropout=0 and model.attention_dropout=0",
            int64_t{1} << kKeyBits);
    made_.push_back(ids_.data<int64_t>()[sample] << kKeyBits | number);
  }
  Tensor on(Device device) const { return Tensor::from(made_, {std::ssize(made_)}).to(device); }

 private:
  Tensor ids_;
  std::vector<int64_t> made_;
};

// The links of a batch, and where each is among its B*L.
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

void add_links(const data::Batch& batch, const GraphNeeds& needs, DType sums, GraphInputs& made,
               Device device) {
  Keys keys(batch);
  const NodeLinks found = links_in(batch, keys);
  const int64_t rows = batch.size() * batch.length();
  // Links of a row are neighbours already, so that their order stays.
  made.links = kernels::links_of_edges(found.edges, rows, rows);
  if (needs.weights == LinkWeights::mean) made.weights = mean_of_links(made.links, sums).to(device);
  if (needs.weights == LinkWeights::symmetric)
    made.weights = symmetric_weights(made.links, sums).to(device);
  made.links = made.links.to(device);
  if (needs.drops) made.keys = keys.on(device);
  if (!batch.link_kinds.defined() && !batch.link_values.defined()) return;
  std::vector<int64_t> starts(found.places.size() + 1);
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int64_t>(i);
  made.places =
      kernels::make_links(starts, found.places, batch.size() * batch.links.dim(1)).to(device);
}

// The distinct ids of each sample, in rising order: a table's gradient is summed sample by sample.
class BagIds {
 public:
  BagIds(const data::Batch& batch, int64_t ids)
      : bags_(batch.bags), length_(batch.length()), slot_(static_cast<size_t>(ids)) {
    for (int64_t sample = 0; sample < batch.size(); ++sample) all_.push_back(ids_of(sample));
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

void add_bags(const data::Batch& batch, const GraphNeeds& needs, DType sums, GraphInputs& made,
              Device device) {
  BagIds ids(batch, needs.node_ids);
  Keys keys(batch);
  std::vector<kernels::Edge> edges;
  std::vector<int64_t> counted(static_cast<size_t>(batch.size()));
  ids.each([&](int64_t sample, int64_t row, int64_t column) {
    edges.push_back({row, column});
    keys.add(sample, counted[static_cast<size_t>(sample)]++);
  });
  made.bag_ids = ids.ids().to(device);
  made.bags = kernels::links_of_edges(edges, batch.size() * batch.length(), made.bag_ids.size());
  made.bag_weights =
      needs.mean_of_bags
          ? mean_of_links(made.bags, sums)
          : Tensor::from(std::vector<double>(edges.size(), 1), {std::ssize(edges), 1}).to(sums);
  made.bag_weights = made.bag_weights.to(device);
  made.bags = made.bags.to(device);
  if (needs.drops) made.bag_keys = keys.on(device);
}

}  // namespace

GraphInputs graph_inputs(const data::Batch& batch, const GraphNeeds& needs, DType sums,
                         Device device) {
  require(batch.links.defined(), "this model reads graphs, but was given texts or pictures");
  GraphInputs made;
  add_links(batch, needs, sums, made, device);
  if (needs.node_ids > 0) add_bags(batch, needs, sums, made, device);
  return made;
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

}  // namespace skein
