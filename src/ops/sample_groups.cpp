#include "skein/ops/sample_groups.h"

#include <utility>

#include "skein/kernels/elementwise.h"

namespace skein::ops {
namespace {

thread_local int groups_here = 1;
thread_local int64_t samples_here = 0;

}  // namespace

SampleGroups::SampleGroups(int count, int64_t samples)
    : count_before_(std::exchange(groups_here, count)),
      samples_before_(std::exchange(samples_here, samples)) {
  SKEIN_CHECK(count >= 1);
}

SampleGroups::~SampleGroups() {
  groups_here = count_before_;
  samples_here = samples_before_;
}

int SampleGroups::count() { return groups_here; }
int64_t SampleGroups::one_by_one() { return samples_here; }

Subtree Subtree::joined(const std::vector<Tensor>& waiting, unsigned group, bool last, Tensor sum) {
  size_t level = 0;
  on_device(sum.device(), [&](auto device) {
    for (; last ? group >> level != 0 : group >> level & 1; ++level) {
      if (!(group >> level & 1)) continue;
      kernels::accumulate(device, sum, Out(waiting[level]));
      sum = waiting[level];
    }
  });
  return {std::move(sum), level};
}

}  // namespace skein::ops
