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

// Row 1 goes to two places, row 3 to none.
TEST(TakeRows, MayTakeARowMoreThanOnce) {
  const ops::RowChoice choice{Tensor::from(std::vector<int32_t>{1, 0, -1, 2, 1}, {5}),
                              Tensor::from(std::vector<int32_t>{1, 0, 3, -1, -1, 4, -1, -1}, {8})};
  test::check_gradients(
      [&](const test::Checked& at) { return ops::take_rows(at.inputs[0], choice); }, {{1, 4, 3}});
}

TEST(TakeRows, RefusesWhatCannotBe) {
  EXPECT_EQ(test::internal_error_of([] {
              ops::choose_rows({0, 5}, 5, 1, {});
            }),
            "choose_rows: row 5 is none of a sample's 5");
  EXPECT_EQ(test::internal_error_of([] {
              ops::choose_rows({3, 0, 3}, 5, 1, {});
            }),
            "choose_rows: row 3 is taken twice");
  const Var x(Tensor::zeros({2, 3, 4}, DType::f32));
  const auto refusal = [&](int64_t rows, int64_t back) {
    return test::internal_error_of([&] {
      ops::take_rows(x, {Tensor::zeros({rows}, DType::i32), Tensor::zeros({back}, DType::i32)});
    });
  };
  EXPECT_EQ(refusal(5, 6),
            "take_rows: back must have as many values as x has rows, 6, or a multiple of that, and "
            "rows a multiple of 2 samples, not 6 and 5");
  EXPECT_EQ(refusal(4, 5),
            "take_rows: back must have as many values as x has rows, 6, or a multiple of that, and "
            "rows a multiple of 2 samples, not 5 and 4");
  EXPECT_EQ(refusal(4, 13),
            "take_rows: back must have as many values as x has rows, 6, or a multiple of that, and "
            "rows a multiple of 2 samples, not 13 and 4");
}

TEST(MergeRounds, RefusesWhatCannotBe) {
  EXPECT_EQ(test::internal_error_of([] {
              ops::merge_rounds(Var(Tensor::zeros({4, 2}, DType::f32)),
                                Var(Tensor::zeros({3}, DType::f32)),
                                Tensor::zeros({2, 2}, DType::i32));
            }),
            "merge_rounds: levels [P] must have P = 4 as parts [P,C], not 3: parts f32 [4,2], "
            "levels f32 [3], rows i32 [2,2]");
}

TEST(Positions, AreTakenAndPutBehind) {
  const auto both = [](const test::Checked& at) {
    return ops::positions(ops::append(at.inputs[0], at.inputs[1]), 1, 3);
  };
  test::check_gradients(both, {{2, 3, 4}, {2, 2, 4}});
  const Tensor x = test::random_tensor({2, 3, 4}, 3), y = test::random_tensor({2, 2, 4}, 4),
               made = ops::append(Var(x), Var(y)).value(),
               some = ops::positions(Var(made), 2, 2).value();
  ASSERT_EQ(made.shape(), (Shape{2, 5, 4}));
  ASSERT_EQ(some.shape(), (Shape{2, 2, 4}));
  const auto at = [](const Tensor& of, int64_t sample, int64_t row, int64_t column) {
    return of.data<double>()[(sample * of.dim(1) + row) * 4 + column];
  };
  for (int64_t sample = 0; sample < 2; ++sample)
    for (int64_t column = 0; column < 4; ++column) {
      for (int64_t row = 0; row < 5; ++row)
        EXPECT_EQ(at(made, sample, row, column),
                  row < 3 ? at(x, sample, row, column) : at(y, sample, row - 3, column));
      for (int64_t row = 0; row < 2; ++row)
        EXPECT_EQ(at(some, sample, row, column), at(made, sample, row + 2, column));
    }
}

TEST(Positions, ThatAreNotThereAreRefused) {
  EXPECT_EQ(test::internal_error_of([] {
              ops::positions(Var(Tensor::zeros({2, 3, 4}, DType::f32)), 2, 2);
            }),
            "positions: 2 of them from 2 on are not among x's 3: x [2,3,4]");
}

}  // namespace
}  // namespace skein
