// The optimizer's CUDA kernels against the CPU's; instantiated in kernels_test.cpp.
#include <limits>

#include "skein/kernels/adamw.h"

#include "cuda/on_devices.h"
#include "support/kernel_check.h"

namespace skein {
namespace {

using test::OnCuda;
using test::random_tensor;
using test::Tensors;
using test::There;

// What one slice needs to move, and zeros of its working type.
Tensors adamw_state(int64_t count, DType working) {
  return {random_tensor({count}, 2, DType::f32), random_tensor({count}, 3, DType::f32),
          Tensor::from(std::vector<float>(static_cast<size_t>(count), 0.25f), {count}),
          Tensor::zeros({count}, working)};
}

kernels::AdamWOuts masters_of(const Tensors& all) {
  return {Out(all[0]), Out(all[1]), Out(all[2])};
}
// Of the slice whose tensors begin at `first`.
kernels::AdamWOuts outs_of(const Tensors& all, size_t first) {
  return {Out(all[first]), Out(all[first + 1]), Out(all[first + 2]), Out(all[first + 3])};
}

TEST_P(OnCuda, AdamW) {
  const kernels::AdamWArguments arguments{0.9, 0.95, 1e-8, 0.5, 3};
  for (int64_t count : {1, 30, 1000, 4096, 10001}) {
    const Tensor gradient = random_tensor({count}, 1, DType::f32);
    const Tensors state = adamw_state(count, dtype());
    EXPECT_EQUAL_ON_DEVICES(
        state, 1e-2,
        kernels::adamw(device, arguments, {{1e-2, 0.1, at(gradient)}}, {outs_of(out, 0)}));
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{state[0], state[1], state[2]}), 1e-6,
        kernels::adamw(device, arguments, {{1e-2, 0.1, at(gradient)}}, {masters_of(out)}));
  }
}

// More slices than one launch has room for, of sizes and rates of their own, one of them empty.
TEST_P(OnCuda, AdamWOfManySlices) {
  Tensors state, gradients;
  for (int64_t i = 0; i < 101; ++i) {
    const int64_t count = i == 50 ? 0 : 1 + i * 997 % 9000;
    const Tensors of_slice = adamw_state(count, dtype());
    state.insert(state.end(), of_slice.begin(), of_slice.end());
    gradients.push_back(random_tensor({count}, static_cast<uint64_t>(i), DType::f32));
  }
  const auto move = [&](auto device, const auto& at, const Tensors& out) {
    std::vector<kernels::AdamWSlice> slices;
    std::vector<kernels::AdamWOuts> to;
    for (size_t i = 0; i < gradients.size(); ++i) {
      slices.push_back({1e-2 * static_cast<double>(i + 1), i % 2 ? 0.1 : 0, at(gradients[i])});
      to.push_back(outs_of(out, 4 * i));
    }
    kernels::adamw(device, {0.9, 0.95, 1e-8, 0.5, 3}, slices, to);
  };
  EXPECT_EQUAL_ON_DEVICES(state, 1e-2, move(device, at, out));
}

TEST_P(OnCuda, AdamWClipsByANormOnTheDevice) {
  const Tensor gradient = random_tensor({1000}, 1, DType::f32);
  Tensors state = adamw_state(1000, DType::f32);
  state.pop_back();
  for (double square_sum : {4.0, 400.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()}) {
    const kernels::AdamWArguments arguments{
        0.9, 0.95, 1e-8, 0.5, 3, Tensor::from(std::vector<double>{square_sum}, {1}), 2.0};
    EXPECT_EQUAL_ON_DEVICES(
        state, 1e-6,
        kernels::adamw(device, at(arguments), {{1e-2, 0.1, at(gradient)}}, {masters_of(out)}));
    if (std::isfinite(square_sum)) continue;
    const There at;
    const Tensors untouched{at(state[0].clone()), at(state[1].clone()), at(state[2].clone())};
    kernels::adamw(Cuda{}, at(arguments), {{1e-2, 0.1, at(gradient)}}, {masters_of(untouched)});
    EXPECT_EQ(test::values_of(untouched[0].to(Device{})), test::values_of(state[0]));
  }
}

TEST_P(OnCuda, StochasticRounding) {
  const Tensor x = random_tensor({1003}, 1, DType::f32);
  for (int64_t first : {0, 5})
    EXPECT_EQUAL_ON_DEVICES(
        (Tensors{Tensor::zeros({1003}, DType::bf16)}), 0,
        kernels::stochastic_round(device, {5, 7, first, {}}, at(x), Out(out[0])));
}

}  // namespace
}  // namespace skein
