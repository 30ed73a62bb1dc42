#include "graph_pairs.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/data/graphs/positions.h"

namespace skein {
namespace {

// Numbers of kinds, behind those of distances up to the farthest.
int64_t no_path(const PairNeeds& needs) { return needs.farthest + 2; }
int64_t with_virtual_node(const PairNeeds& needs) { return needs.farthest + 3; }
int64_t first_of_paths(const PairNeeds& needs) { return needs.farthest + 4; }

int32_t kind_of_distance(int32_t distance, const PairNeeds& needs) {
  return narrow<int32_t>(distance == data::kNotConnected
                             ? no_path(needs)
                             : std::min<int64_t>(distance, needs.farthest + 1));
}

// The last step of a path: the node before its end, and the link between them.
struct LastStep {
  int32_t node = -1, kind = -1;
};

// A sample's own nodes.
class SamplePairs {
 public:
  SamplePairs(const data::Batch& batch, const Tensor& distances, const Tensor& link_kinds,
              const PairNeeds& needs, int64_t sample)
      : needs_(needs),
        nodes_(batch.lengths.data<int32_t>()[sample]),
        links_(batch.links.dim(1)),
        length_(batch.length()),
        ends_(batch.links.data<int32_t>() + sample * links_ * 2),
        kinds_(needs.link_kinds > 0 ? link_kinds.data<int32_t>() + sample * links_ : nullptr),
        distances_(distances.data<int32_t>() + sample * length_ * length_) {}

  int64_t nodes() const { return nodes_; }
  // Links of the longest path whose kinds are told.
  int64_t longest() const {
    int64_t made = 0;
    for (int64_t i = 0; i < nodes_ && kinds_; ++i)
      for (int64_t j = 0; j < nodes_; ++j)
        if (distance(i, j) <= needs_.farthest) made = std::max<int64_t>(made, distance(i, j));
    return made;
  }
  // Writes the kinds of the pairs of node i, `width` numbers each.
  void fill(int64_t i, int64_t width, int32_t* to) const {
    const std::vector<LastStep> steps = last_steps(i);
    for (int64_t j = 0; j < nodes_; ++j, to += width) {
      to[0] = kind_of_distance(distance(i, j), needs_);
      if (kinds_ && distance(i, j) <= needs_.farthest) fill_path(i, j, steps, to);
    }
  }

 private:
  int32_t distance(int64_t i, int64_t j) const { return distances_[i * length_ + j]; }

  // Of the paths from node i to all others. Links come in the order of the nodes that gather, so
  // that the first one that fits leads over the first of these.
  std::vector<LastStep> last_steps(int64_t i) const {
    std::vector<LastStep> made(static_cast<size_t>(nodes_));
    for (int64_t link = 0; link < links_ && kinds_ && ends_[2 * link] >= 0; ++link) {
      const int32_t before = ends_[2 * link], end = ends_[2 * link + 1];
      SKEIN_CHECK(before < nodes_ && end >= 0 && end < nodes_);
      SKEIN_CHECK(kinds_[link] >= 0 && kinds_[link] < needs_.link_kinds);
      LastStep& step = made[static_cast<size_t>(end)];
      if (step.node < 0 && distance(i, before) + 1 == distance(i, end))
        step = {before, kinds_[link]};
    }
    return made;
  }
  void fill_path(int64_t i, int64_t j, const std::vector<LastStep>& steps, int32_t* to) const {
    int64_t node = j;
    for (int64_t left = distance(i, j); left > 0; --left) {
      const LastStep& step = steps[static_cast<size_t>(node)];
      require(step.node >= 0,
              "a graph's column pair_distance says that node {} is {} links from node {}, but its "
              "links say otherwise; make its store again with `skein-data graphs "
              "--graphs.distances=true`",
              j, distance(i, j), i);
      to[left] =
          narrow<int32_t>(first_of_paths(needs_) + (left - 1) * needs_.link_kinds + step.kind);
      node = step.node;
    }
  }

  const PairNeeds& needs_;
  int64_t nodes_, links_, length_;
  const int32_t *ends_, *kinds_, *distances_;
};

std::vector<SamplePairs> pairs_of(const data::Batch& batch, const Tensor& distances,
                                  const Tensor& link_kinds, const PairNeeds& needs) {
  std::vector<SamplePairs> made;
  for (int64_t sample = 0; sample < batch.size(); ++sample)
    made.emplace_back(batch, distances, link_kinds, needs, sample);
  return made;
}

// `ahead`: rows for a virtual node, whose pairs have a kind of their own.
void fill_kinds(const SamplePairs& sample, const PairNeeds& needs, int64_t width, int32_t* to) {
  const int64_t ahead = needs.virtual_node ? 1 : 0, nodes = sample.nodes() + ahead;
  const auto with_virtual = narrow<int32_t>(with_virtual_node(needs));
  for (int64_t pair = 0; ahead && pair < nodes * nodes; ++pair)
    if (pair < nodes || pair % nodes == 0) to[pair * width] = with_virtual;
  for (int64_t i = 0; i < sample.nodes(); ++i)
    sample.fill(i, width, to + ((i + ahead) * nodes + ahead) * width);
}

}  // namespace

int64_t count_of_kinds(const PairNeeds& needs) {
  return first_of_paths(needs) + needs.farthest * needs.link_kinds;
}

int64_t nodes_of(const data::Batch& batch, const PairNeeds& needs, int64_t sample) {
  return batch.lengths.data<int32_t>()[sample] + (needs.virtual_node ? 1 : 0);
}

Tensor pair_kinds(const data::Batch& batch, const PairNeeds& needs) {
  require(batch.distances.defined(),
          "this model reads how far nodes are from each other, but the graphs do not say; make "
          "their store with `skein-data graphs --graphs.distances=true`");
  const Tensor distances = batch.distances.to(Device{});
  const Tensor link_kinds = needs.link_kinds > 0 ? batch.link_kinds.to(Device{}) : Tensor();
  const auto samples = pairs_of(batch, distances, link_kinds, needs);
  int64_t most = 1, width = 1;
  for (int64_t sample = 0; sample < batch.size(); ++sample) {
    const int64_t nodes = nodes_of(batch, needs, sample);
    most = std::max(most, nodes * nodes);
    width = std::max(width, 1 + samples[static_cast<size_t>(sample)].longest());
  }
  const Tensor made = Tensor::empty({batch.size(), most, width}, DType::i32);
  std::ranges::fill(made.span<int32_t>(), -1);
  for (int64_t sample = 0; sample < batch.size(); ++sample)
    fill_kinds(samples[static_cast<size_t>(sample)], needs, width,
               made.data<int32_t>() + sample * most * width);
  return made;
}

Tensor degree_ids(const data::Batch& batch, const PairNeeds& needs) {
  const int64_t length = batch.length(), links = batch.links.dim(1);
  std::vector<int64_t> counts(static_cast<size_t>(batch.size() * length * 2));
  const int32_t* end = batch.links.data<int32_t>();
  for (int64_t at = 0; at < batch.size() * links * 2; ++at)
    if (end[at] >= 0)
      ++counts[static_cast<size_t>((at / 2 / links * length + end[at]) * 2 + at % 2)];
  const Tensor made = Tensor::empty({batch.size(), length, 2}, DType::i32);
  for (int64_t i = 0; i < made.size(); ++i) {
    const bool padding = i / 2 % length >= batch.lengths.data<int32_t>()[i / 2 / length];
    const int64_t id =
        std::min(counts[static_cast<size_t>(i)], needs.degrees) + i % 2 * (needs.degrees + 1);
    made.data<int32_t>()[i] = padding ? -1 : narrow<int32_t>(id);
  }
  return made;
}

}  // namespace skein
