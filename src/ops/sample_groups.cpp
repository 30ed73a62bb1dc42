#include "skein/ops/sample_groups.h"

#include <utility>

#include "skein/kernels/elementwise.h"

namespace skein::ops {
namespace {

thread_local int groups_here = 1;

}  // namespace

SampleGroups::SampleGroups(int count) : before_(std::exchange(groups_here, count)) {
  SKEIN_CHECK(count >= 1);
}

SampleGroups::~SampleGroups() { groups_here = before_; }

int SampleGroups::count() { return groups_here; }

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
