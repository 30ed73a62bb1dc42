// Sums of gradients by group of samples: a binary tree over the groups (comm/group.h), whether a
// micro-batch is a part of a group or holds several.
//
//   const SampleGroups four(4);
//   backward(...);   // a quarter of the samples after the other, then their sums in the tree
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::ops {

// While it lives what this thread runs backward holds so many whole groups, all alike: each tensor
// of a batch has the samples of the first before those of the second, and so on. Each weight is to
// be used once then, and its gradient to begin with zeros.
class SampleGroups {
 public:
  // samples: of each group. Where it is given, the order of sums does not depend on which samples
  // come together on GPUs either: they add sample after sample, and take algorithms of products by
  // their other sizes (kernels::MatmulArguments). CPUs do so anyway.
  explicit SampleGroups(int count, int64_t samples = 0);
  ~SampleGroups();
  SampleGroups(const SampleGroups&) = delete;
  SampleGroups& operator=(const SampleGroups&) = delete;

  // 1 where none lives.
  static int count();
  // Samples of each group that are added one by one; 0: rows as they come.
  static int64_t one_by_one();

 private:
  int count_before_;
  int64_t samples_before_;
};

// A finished sum of 2^level groups, or of all.
struct Subtree {
  Tensor sum;
  size_t level = 0;

  // The sum of group number `group` joined with those before it that wait for it: a binary counter,
  // in which waiting[l] holds 2^l groups where bit l of `group` is set. The last group's takes all
  // that wait, the latest first. left += right, in the memory of the left one.
  static Subtree joined(const std::vector<Tensor>& waiting, unsigned group, bool last, Tensor sum);
};

}  // namespace skein::ops
