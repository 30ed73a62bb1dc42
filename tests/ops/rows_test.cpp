// Rows in another order.
#include "skein/ops/embedding.h"

#include "support/gradient_check.h"
#include "support/op_cases.h"

namespace skein {
namespace {

TEST(TakeRows, PutsThemWhereTheyAreAsked) {
  const ops::RowChoice choice = ops::choose_rows({2, -1, 0, 4}, 5, 2, {});
  test::check_gradients(
      [&](const test::Checked& at) { return ops::take_rows(at.inputs[0], choice); }, {{2, 5, 3}});
  const Tensor x = test::random_tensor({2, 5, 3}, 3),
               taken = ops::take_rows(Var(x), choice).value();
  ASSERT_EQ(taken.shape(), (Shape{2, 4, 3}));
  const int64_t from[] = {2, -1, 0, 4, 7, -1, 5, 9};
  for (int64_t i = 0; i < taken.size(); ++i)
    EXPECT_EQ(taken.data<double>()[i],
              from[i / 3] < 0 ? 0 : x.data<double>()[from[i / 3] * 3 + i % 3]);
}

TEST(TakeRows, RefusesWhatCannotBe) {
  EXPECT_EQ(test::refusal_of([] {
              ops::choose_rows({0, 5}, 5, 1, {});
            }),
            "choose_rows: row 5 is none of a sample's 5");
  EXPECT_EQ(test::refusal_of([] {
              ops::choose_rows({3, 0, 3}, 5, 1, {});
            }),
            "choose_rows: row 3 is taken twice");
  const Var x(Tensor::zeros({2, 3, 4}, DType::f32));
  const auto refusal = [&](int64_t rows, int64_t back) {
    return test::refusal_of([&] {
      ops::take_rows(x, {Tensor::zeros({rows}, DType::i32), Tensor::zeros({back}, DType::i32)});
    });
  };
  EXPECT_EQ(refusal(5, 6),
            "take_rows: back must have 6 values as x has rows, and rows a multiple of 2 samples, "
            "not 6 and 5");
  EXPECT_EQ(refusal(4, 5),
            "take_rows: back must have 6 values as x has rows, and rows a multiple of 2 samples, "
            "not 5 and 4");
}

}  // namespace
}  // namespace skein
