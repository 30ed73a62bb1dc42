// How ops add to the gradients of weights. Internal to the floor.
#pragma once

#include <algorithm>
#include <vector>

#include "skein/kernels/elementwise.h"
#include "skein/ops/sample_groups.h"

namespace skein::ops {

// add(begin, end, into) for rows [begin, end) of a group, or for each of its samples.
template <class Add>
void add_samples(int64_t begin, int64_t end, const std::vector<Out>& into, const Add& add) {
  const int64_t samples = std::max<int64_t>(1, SampleGroups::one_by_one());
  SKEIN_CHECK_EQ((end - begin) % samples, 0);
  const int64_t step = (end - begin) / samples;
  for (int64_t s = 0; s < samples; ++s) add(begin + s * step, begin + (s + 1) * step, into);
}

// Adds to `gradients`, of which some may be undefined, what `rows` rows give them:
// add(begin, end, into) adds what rows [begin, end) do to the Outs `into`, one a gradient and
// undefined where that is. Where the rows are those of several SampleGroups, a group begins with
// zeros, and their sums meet in the tree.
template <class Add>
void add_by_group(const std::vector<Tensor>& gradients, int64_t rows, const Add& add) {
  const int groups = SampleGroups::count();
  if (groups == 1)
    return add_samples(0, rows, std::vector<Out>(gradients.begin(), gradients.end()), add);
  SKEIN_CHECK_EQ(rows % groups, 0);
  const int64_t step = rows / groups;
  std::vector<std::vector<Tensor>> waiting(gradients.size(), std::vector<Tensor>(32));
  for (int group = 0; group < groups; ++group) {
    std::vector<Tensor> sums;
    for (const Tensor& gradient : gradients)
      sums.push_back(gradient.defined()
                         ? Tensor::zeros(gradient.shape(), gradient.dtype(), gradient.device())
                         : Tensor());
    add_samples(group * step, (group + 1) * step, std::vector<Out>(sums.begin(), sums.end()), add);
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
