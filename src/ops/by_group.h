// How ops add to the gradients of weights. Internal to the floor.
#pragma once

#include <vector>

#include "skein/kernels/elementwise.h"
#include "skein/ops/sample_groups.h"

namespace skein::ops {

// Adds to `gradients`, of which some may be undefined, what `rows` rows give them:
// add(begin, end, into) adds what rows [begin, end) do to the Outs `into`, one a gradient and
// undefined where that is. Where the rows are those of several SampleGroups, a group begins with
// zeros, and their sums meet in the tree.
template <class Add>
void add_by_group(const std::vector<Tensor>& gradients, int64_t rows, const Add& add) {
  const int groups = SampleGroups::count();
  if (groups == 1)
    return add(int64_t{0}, rows, std::vector<Out>(gradients.begin(), gradients.end()));
  SKEIN_CHECK_EQ(rows % groups, 0);
  const int64_t step = rows / groups;
  std::vector<std::vector<Tensor>> waiting(gradients.size(), std::vector<Tensor>(32));
  for (int group = 0; group < groups; ++group) {
    std::vector<Tensor> sums;
    for (const Tensor& gradient : gradients)
      sums.push_back(gradient.defined()
                         ? Tensor::zeros(gradient.shape(), gradient.dtype(), gradient.device())
                         : Tensor());
    add(group * step, (group + 1) * step, std::vector<Out>(sums.begin(), sums.end()));
    const bool last = group + 1 == groups;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (!sums[i].defined()) continue;
      auto [sum, level] = Subtree::joined(waiting[i], static_cast<unsigned>(group), last, sums[i]);
      waiting[i][level] = std::move(sum);
      if (last)
        on_device(gradients[i].device(), [&](auto device) {
          kernels::accumulate(device, waiting[i][level], Out(gradients[i]));
        });
    }
  }
}

// Rows [begin, end) of x over all dims but the last.
inline Tensor as_rows(const Tensor& x) { return x.reshape({-1, x.dim(-1)}); }
inline Tensor some_rows(const Tensor& x, int64_t begin, int64_t end) {
  return as_rows(x).rows(begin, end);
}

}  // namespace skein::ops
