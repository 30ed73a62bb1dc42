// The same kernel on the CPU and on a GPU.
#pragma once

#include <algorithm>
#include <functional>

#include "skein/kernels/adamw.h"
#include "skein/kernels/attention.h"
#include "skein/kernels/links.h"

#include "support/kernel_check.h"
#include "support/kernel_home.h"

namespace skein::test {

using Tensors = std::vector<Tensor>;

inline Tensor zeros_like(const Tensor& x) { return Tensor::zeros(x.shape(), x.dtype()); }

struct Here {
  const Tensor& operator()(const Tensor& x) const { return x; }
  template <class Arguments>
  const Arguments& operator()(const Arguments& x) const {
    return x;
  }
};

// Copies of tensors where the kernels want them.
struct There {
  Tensor operator()(const Tensor& x) const { return x.defined() ? x.to(kHome) : x; }
  kernels::AttentionArguments operator()(kernels::AttentionArguments x) const {
    kernels::Pattern& p = x.pattern;
    for (Tensor* part : {&p.query_segments, &p.key_segments, &p.first_key, &p.prefix, &p.marked,
                         &p.query_places, &p.key_places, &p.lists.starts, &p.lists.blocks,
                         &p.lists.origins, &p.lists.rows, &x.bias})
      *part = (*this)(*part);
    x.sample_ids = (*this)(x.sample_ids);
    return x;
  }
  kernels::Links operator()(const kernels::Links& x) const { return x.to(kHome); }
  kernels::LinkTerms operator()(kernels::LinkTerms x) const {
    for (Tensor* part : {&x.row, &x.column, &x.link, &x.weights}) *part = (*this)(*part);
    return x;
  }
  kernels::AdamWArguments operator()(kernels::AdamWArguments x) const {
    x.square_sum = (*this)(x.square_sum);
    return x;
  }
  kernels::DropoutMask operator()(kernels::DropoutMask x) const {
    x.sample_ids = (*this)(x.sample_ids);
    return x;
  }
};

// work(device, at, results) fills `results`, of which each side gets a copy.
inline void expect_equal(const Tensors& results, double tolerance,
                         const std::function<void(Cpu, const Here&, const Tensors&)>& on_cpu,
                         const std::function<void(Cuda, const There&, const Tensors&)>& on_cuda) {
  Tensors wanted, found;
  for (const Tensor& result : results) {
    wanted.push_back(result.clone());
    found.push_back(There()(result.clone()));
  }
  on_cpu(Cpu{}, Here(), wanted);
  on_cuda(Cuda{}, There(), found);
  for (Tensor& result : found) result = result.to(Device{});
  for (size_t r = 0; r < results.size(); ++r) {
    if (results[r].dtype() == DType::i64) {
      EXPECT_TRUE(std::ranges::equal(wanted[r].span<int64_t>(), found[r].span<int64_t>())) << r;
      continue;
    }
    const auto left = values_of(wanted[r]), right = values_of(found[r]);
    for (size_t i = 0; i < left.size(); ++i) {
      if (std::isinf(left[i]))
        ASSERT_EQ(left[i], right[i]) << "result " << r << " element " << i;
      else
        ASSERT_NEAR(left[i], right[i], tolerance * (1 + std::abs(left[i])))
            << "result " << r << " element " << i;
    }
  }
}

#define EXPECT_EQUAL_ON_DEVICES(results, tolerance, ...)                                    \
  skein::test::expect_equal(                                                                \
      results, tolerance,                                                                   \
      [&](auto device, const auto& at, const ::skein::test::Tensors& out) { __VA_ARGS__; }, \
      [&](auto device, const auto& at, const ::skein::test::Tensors& out) { __VA_ARGS__; })

class OnCuda : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  // A result may round the other way.
  double tolerance() const {
    return dtype() == DType::bf16 ? 1e-2 : dtype() == DType::f16 ? 1.5e-3 : 1e-5;
  }
};

}  // namespace skein::test
