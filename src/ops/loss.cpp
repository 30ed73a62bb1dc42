#include "skein/ops/loss.h"

#include <cmath>

#include "skein/kernels/loss.h"

namespace skein::ops {
namespace {

Tensor losses_of(const Tensor& sum_exp, const Tensor& target_logit) {
  Tensor losses = Tensor::empty(sum_exp.shape(), sum_exp.dtype());
  visit_float(losses.dtype(), [&](auto tag) {
    using A = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<A, BFloat16>) {
      const A *sum = sum_exp.data<A>(), *target = target_logit.data<A>();
      A* loss = losses.data<A>();
      for (int64_t i = 0; i < losses.size(); ++i) loss[i] = std::log(sum[i]) - target[i];
    }
  });
  return losses;
}

}  // namespace

Var cross_entropy(const Var& logits, const Tensor& targets, const VocabShard& shard, Group& group) {
  const Tensor& values = logits.value();
  const int64_t rows = values.dim(0);
  const DType sums = gradient_dtype(values.dtype());
  Tensor maximum = Tensor::empty({rows}, sums), sum_exp = Tensor::empty({rows}, sums), target = Tensor::empty({rows}, sums);
  on_device(values.device(), [&](auto device) {
    kernels::row_maximum(device, values, shard.valid, maximum);
    group.all_reduce_max(maximum);
    kernels::row_sum_exp(device, values, shard.valid, maximum, targets, shard.first_id, sum_exp, target);
    group.all_reduce_sum(sum_exp);
    group.all_reduce_sum(target);
  });
  return record(losses_of(sum_exp, target), {logits}, false, [=](const Tensor& row_weights) {
    Tensor dlogits = Tensor::empty(logits.shape(), logits.value().dtype(), logits.value().device());
    on_device(dlogits.device(), [&](auto device) {
      kernels::cross_entropy_backward(device, logits.value(), shard.valid, maximum, sum_exp, targets, shard.first_id,
                                      row_weights, dlogits);
    });
    logits.add_gradient(dlogits);
  });
}

}  // namespace skein::ops
