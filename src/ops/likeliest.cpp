#include "skein/ops/likeliest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/kernels/likeliest.h"

#include "checks.h"

namespace skein::ops {
namespace {

// Of each shard, in their order: [ranks,...].
Tensor of_shards(const Tensor& own, Group& group) {
  std::vector<int64_t> dims = own.shape().dims();
  dims.insert(dims.begin(), group.size());
  if (group.size() == 1) return own.reshape(Shape(dims));
  const Tensor all = Tensor::empty(Shape(dims), own.dtype());
  group.all_gather(own, all).wait();
  return all;
}

// [M], over all shards, where the logits are.
Tensor maxima(const Tensor& logits, int64_t valid, Group& group) {
  const Tensor own = logits.like({logits.dim(0)});
  on_device(logits.device(),
            [&](auto device) { kernels::row_maximum(device, logits, valid, Out(own)); });
  if (group.size() == 1) return own;
  const Tensor here = own.device() == Device{} ? own : own.to(Device{});
  group.all_reduce_max(here).wait();
  return here.to(own.device());
}

void forbid(const Tensor& logits, const VocabShard& shard, const LikelyArguments& arguments) {
  std::vector<int64_t> places;
  for (const auto& [row, id] : arguments.banned) {
    const int64_t column = id - shard.first_id;
    SKEIN_CHECK(row >= 0 && row < logits.dim(0));
    if (column >= 0 && column < shard.valid) places.push_back(row * logits.dim(1) + column);
  }
  if (places.empty()) return;
  const Tensor there = Tensor::from(places, {std::ssize(places)}).to(logits.device());
  on_device(logits.device(), [&](auto device) { kernels::forbid(device, there, Out(logits)); });
}

// What all shards know of all rows, on the host.
struct Found {
  Tensor maxima;       // [M]
  Tensor weights;      // [ranks,M] i64; -1 - id where that logit is NaN
  Tensor ids, logits;  // [ranks,M,K]
};

Found found_in(const Tensor& logits, const VocabShard& shard, const LikelyArguments& arguments,
               double units, Group& group) {
  const int64_t rows = logits.dim(0);
  const Tensor top = maxima(logits, shard.valid, group), weights = logits.like({rows}, DType::i64),
               ids = logits.like({rows, arguments.count}, DType::i32),
               best = logits.like({rows, arguments.count});
  const int64_t below = std::clamp<int64_t>(arguments.below - shard.first_id, 0, shard.valid);
  on_device(logits.device(), [&](auto device) {
    kernels::row_weights(device, logits, shard.valid, top, units, Out(weights));
  });
  forbid(logits, shard, arguments);
  on_device(logits.device(),
            [&](auto device) { kernels::likeliest(device, logits, below, Out(ids), Out(best)); });
  const Tensor own = weights.to(Device{}), columns = ids.to(Device{});
  for (int64_t& weight : own.span<int64_t>())
    if (weight < 0) weight -= shard.first_id;
  for (int32_t& column : columns.span<int32_t>())
    if (column >= 0) column = narrow<int32_t>(column + shard.first_id);
  return {top.to(Device{}), of_shards(own, group), of_shards(columns, group),
          of_shards(best.to(Device{}), group)};
}

double log_sum(const Found& found, int64_t row, double units) {
  int64_t sum = 0;
  for (int64_t rank = 0; rank < found.weights.dim(0); ++rank) {
    const int64_t weight = found.weights.data<int64_t>()[rank * found.weights.dim(1) + row];
    if (weight < 0)
      fail("the logit of token {} is not a number; the model's weights are damaged or diverged",
           -1 - weight);
    sum += weight;
  }
  const float top = found.maxima.data<float>()[row];
  if (!std::isfinite(top))
    fail("the largest logit is {}; the model's weights are damaged or diverged", top);
  return std::log(static_cast<double>(sum) / units);
}

struct Likely {
  float logit;
  int32_t id;
};

// Of a row, over all shards; those that are none stand at the end.
std::vector<Likely> likely_of(const Found& found, int64_t row) {
  const int64_t count = found.ids.dim(2);
  std::vector<Likely> made;
  for (int64_t rank = 0; rank < found.ids.dim(0); ++rank) {
    const int64_t begin = (rank * found.ids.dim(1) + row) * count;
    for (int64_t i = begin; i < begin + count; ++i)
      made.push_back({found.logits.data<float>()[i], found.ids.data<int32_t>()[i]});
  }
  // Shards stand in the order of their ids.
  std::stable_sort(made.begin(), made.end(),
                   [](const Likely& a, const Likely& b) { return a.logit > b.logit; });
  made.resize(count);
  return made;
}

}  // namespace

Tensor likeliest(const Tensor& logits, const VocabShard& shard, Group& group) {
  check_operands("likeliest", {{"logits", "MV", logits}});
  check(0 <= shard.valid && shard.valid <= logits.dim(1),
        "likeliest: shard.valid must be from 0 to the {} columns of logits, not {}", logits.dim(1),
        shard.valid);
  const Tensor here = logits.to(Device{}).to(DType::f32);
  const int64_t rows = here.dim(0), columns = here.dim(1), ranks = group.size();
  const Tensor best = Tensor::from(std::vector<float>(static_cast<size_t>(rows),
                                                      -std::numeric_limits<float>::infinity()),
                                   {rows}),
               ids = Tensor::zeros({rows}, DType::i32);
  for (int64_t row = 0; row < rows && shard.valid > 0; ++row) {
    const float* from = here.data<float>() + row * columns;
    const float* found = std::max_element(from, from + shard.valid);
    best.data<float>()[row] = *found;
    ids.data<int32_t>()[row] = static_cast<int32_t>(shard.first_id + (found - from));
  }
  if (ranks == 1) return ids;
  const Tensor all_best = Tensor::empty({ranks, rows}, DType::f32),
               all_ids = Tensor::empty({ranks, rows}, DType::i32);
  group.all_gather(best, all_best).wait();
  group.all_gather(ids, all_ids).wait();
  best.copy_from(all_best.rows(0, 1));
  ids.copy_from(all_ids.rows(0, 1));
  for (int64_t i = rows; i < ranks * rows; ++i) {
    if (all_best.data<float>()[i] <= best.data<float>()[i % rows]) continue;
    best.data<float>()[i % rows] = all_best.data<float>()[i];
    ids.data<int32_t>()[i % rows] = all_ids.data<int32_t>()[i];
  }
  return ids;
}

LikelyIds likeliest_ids(const Tensor& logits, const VocabShard& shard,
                        const LikelyArguments& arguments, Group& group) {
  check_operands("likeliest_ids", {{"logits", "MV", logits, DType::f32}});
  check(0 <= shard.valid && shard.valid <= logits.dim(1),
        "likeliest_ids: shard.valid must be from 0 to the {} columns of logits, not {}",
        logits.dim(1), shard.valid);
  const double units = kernels::exponential_units(arguments.ids);
  const Found found = found_in(logits, shard, arguments, units, group);
  const Shape shape{logits.dim(0), arguments.count};
  const LikelyIds made{Tensor::empty(shape, DType::i32), Tensor::empty(shape, DType::f32)};
  int32_t* ids = made.ids.data<int32_t>();
  float* log_probabilities = made.log_probabilities.data<float>();
  for (int64_t row = 0; row < logits.dim(0); ++row) {
    const double top = found.maxima.data<float>()[row], sum = log_sum(found, row, units);
    for (const auto& [logit, id] : likely_of(found, row)) {
      *ids++ = id;
      *log_probabilities++ = static_cast<float>((logit - top) - sum);
    }
  }
  return made;
}

}  // namespace skein::ops
