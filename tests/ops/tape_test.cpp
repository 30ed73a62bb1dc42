// What the tape tells of its way back.
#include <gtest/gtest.h>

#include "skein/ops/linear.h"
#include "skein/ops/math.h"
#include "skein/ops/recompute.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

using test::bytes_of;
using test::random_tensor;

WeightMemory matrix(uint64_t seed) {
  return {random_tensor({4, 4}, seed, DType::f32), Tensor::zeros({4, 4}, DType::f32)};
}

// x -> first -> second -> third, of which the second may be run again in backward.
TEST(OnBackward, ComesWhenAllThatIsBehindHasRun) {
  for (bool again : {false, true}) {
    const WeightMemory first = matrix(1), second = matrix(2), third = matrix(3);
    const std::vector<std::byte> none(4 * 4 * sizeof(float));
    const Var a = ops::linear(Var(random_tensor({2, 4}, 4, DType::f32)), first, {});
    const auto use = [&](const std::vector<Var>& in) { return ops::linear(in[0], second, {}); };
    const Var b = ops::add(again ? ops::recompute({a}, use) : use({a}), a);
    std::vector<std::string> told;
    a.on_backward([&] {
      told.push_back("a");
      EXPECT_NE(bytes_of(second.gradient), none);
      EXPECT_EQ(bytes_of(first.gradient), none);
    });
    b.on_backward([&] {
      told.push_back("b");
      EXPECT_NE(bytes_of(third.gradient), none);
      EXPECT_EQ(bytes_of(second.gradient), none);
    });
    b.on_backward([&] { told.push_back("b again"); });
    const Var y = ops::linear(b, third, {});
    EXPECT_TRUE(told.empty());
    backward(y, random_tensor(y.shape(), 5, DType::f32));
    EXPECT_EQ(told, (std::vector<std::string>{"b", "b again", "a"}));
    EXPECT_NE(bytes_of(first.gradient), none);
  }
}

TEST(OnBackward, IsNotToldOfWhatNoOpHasMade) {
  const WeightMemory weight = matrix(1);
  int told = 0;
  const Var x = Var::leaf(random_tensor({2, 4}, 4, DType::f32));
  x.on_backward([&] { ++told; });
  Var unrecorded;
  {
    const NoGrad no_grad;
    unrecorded = ops::linear(x, weight, {});
  }
  unrecorded.on_backward([&] { ++told; });
  const Var y = ops::add(ops::linear(x, weight, {}), unrecorded);
  backward(y, random_tensor(y.shape(), 5, DType::f32));
  EXPECT_EQ(told, 0);
}

}  // namespace
}  // namespace skein
