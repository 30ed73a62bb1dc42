// What rotary positions refuse, and the texts.
#include <gtest/gtest.h>

#include "skein/ops/attention.h"

#include "support/op_cases.h"

namespace skein {
namespace {

std::string refusal(int64_t width, const ops::RotaryWaves& waves) {
  return test::internal_error_of([&] {
    ops::rotary(Var(Tensor::zeros({1, 2, 1, width}, DType::f32)), Tensor::zeros({1, 2}, DType::i32),
                waves);
  });
}

TEST(OpChecks, TextsOfRotary) {
  EXPECT_EQ(refusal(5, {}),
            "rotary: heads must have an even number of dims to turn in pairs: x [1,2,1,5]");
  EXPECT_EQ(refusal(4, {.width = 6}), "rotary: 6 dims of a head cannot turn in pairs: x [1,2,1,4]");
  EXPECT_EQ(refusal(4, {.scaling = kernels::RopeScaling::longrope, .factors = {1, 2, 3}}),
            "rotary: there are 3 factors of longrope for 2 pairs that turn: x [1,2,1,4]");
}

}  // namespace
}  // namespace skein
