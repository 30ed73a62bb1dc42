#include "skein/ops/likeliest.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "skein/comm/local.h"

#include "support/gradient_check.h"

namespace skein {
namespace {

TEST(Likeliest, IsTheSameOnAllRanksOfASplitVocabulary) {
  const int64_t rows = 20, ids = 11;
  Tensor logits = test::random_tensor({rows, ids}, 3, DType::f32);
  logits.data<float>()[3] = logits.data<float>()[9] = 50;  // equal logits go by the lower id
  std::vector<int32_t> expected;
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = logits.data<float>() + row * ids;
    expected.push_back(static_cast<int32_t>(std::max_element(from, from + ids) - from));
  }
  EXPECT_EQ(expected[0], 3);
  for (int ranks : {1, 2, 4})
    run_ranks(ranks, [&](Group& group) {
      const int64_t part = (ids + ranks - 1) / ranks, first = part * group.rank(),
                    valid = std::clamp<int64_t>(ids - first, 0, part);
      const Tensor own = Tensor::zeros({rows, part}, DType::f32);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < part; ++i)  // padding must not matter
          own.data<float>()[row * part + i] =
              i < valid ? logits.data<float>()[row * ids + first + i] : 100.0f;
      const Tensor found = ops::likeliest(own, {first, valid}, group);
      EXPECT_EQ(std::vector<int32_t>(found.data<int32_t>(), found.data<int32_t>() + rows), expected)
          << ranks << " ranks, rank " << group.rank();
    });
}

struct LikelyRows {
  std::vector<int32_t> ids;
  std::vector<float> log_probabilities;
  bool operator==(const LikelyRows&) const = default;
};

// Of logits [M,V], split over a group.
LikelyRows found_in(const Tensor& logits, const ops::LikelyArguments& arguments, Group& group) {
  const int64_t rows = logits.dim(0), ids = logits.dim(1), ranks = group.size(),
                part = (ids + ranks - 1) / ranks, first = part * group.rank(),
                valid = std::clamp<int64_t>(ids - first, 0, part);
  const Tensor own = Tensor::empty({rows, part}, DType::f32);
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t i = 0; i < part; ++i)  // padding must not matter
      own.data<float>()[row * part + i] =
          i < valid ? logits.data<float>()[row * ids + first + i] : 100.0f;
  const ops::LikelyIds found = ops::likeliest_ids(own, {first, valid}, arguments, group);
  const auto numbers = found.ids.span<int32_t>();
  const auto logs = found.log_probabilities.span<float>();
  return {{numbers.begin(), numbers.end()}, {logs.begin(), logs.end()}};
}

// Row 1 has equal logits, row 2 fewer ids than are wanted.
TEST(LikeliestIds, AreTheSameBitsOnAllRanksOfASplitVocabulary) {
  const int64_t rows = 20, ids = 11;
  const Tensor logits = test::random_tensor({rows, ids}, 3, DType::f32);
  float* row = logits.data<float>() + ids;
  row[2] = row[9] = row[6] = 5;
  ops::LikelyArguments arguments{4, ids, 10, {{0, 3}, {0, 3}, {0, 4}}};
  for (int32_t id = 1; id < 9; ++id) arguments.banned.push_back({2, id});
  LikelyRows expected;
  run_ranks(1, [&](Group& group) { expected = found_in(logits, arguments, group); });
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(expected.ids[i] != 3 && expected.ids[i] != 4) << "banned";
    EXPECT_EQ(expected.ids[4 + i], (std::vector<int32_t>{2, 6, 9, expected.ids[7]})[i]);
  }
  EXPECT_EQ(expected.ids[10], -1) << "only 0 and 9 are left, for 10 is not below 10";
  EXPECT_EQ(expected.log_probabilities[11], -std::numeric_limits<float>::infinity());
  for (int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (int64_t i = 0; i < ids; ++i) sum += std::exp(double{logits.data<float>()[r * ids + i]});
    const auto first = static_cast<size_t>(4 * r);
    EXPECT_NEAR(expected.log_probabilities[first],
                logits.data<float>()[r * ids + expected.ids[first]] - std::log(sum), 1e-6)
        << "banned ids keep their share";
  }
  for (int ranks : {2, 4})
    run_ranks(ranks, [&](Group& group) {
      EXPECT_EQ(found_in(logits, arguments, group), expected) << ranks << " " << group.rank();
    });
}

TEST(LikeliestIds, RefuseLogitsThatAreNoNumbers) {
  const auto refusal = [](float logit, int ranks) {
    const Tensor logits = Tensor::from(std::vector<float>{1, 2, 3, logit, 5, 6}, {1, 6});
    std::string text;
    run_ranks(ranks, [&](Group& group) {
      try {
        found_in(logits, {2, 6, 6, {{0, 3}}}, group);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::failure);
        if (group.rank() == 0) text = error.what();
      }
    });
    return text;
  };
  const float infinity = std::numeric_limits<float>::infinity();
  for (int ranks : {1, 2}) {
    EXPECT_EQ(refusal(std::numeric_limits<float>::quiet_NaN(), ranks),
              "the logit of token 3 is not a number; the model's weights are damaged or diverged");
    EXPECT_EQ(refusal(infinity, ranks),
              "the largest logit is inf; the model's weights are damaged or diverged");
    EXPECT_EQ(refusal(-infinity, ranks), "");
  }
}

}  // namespace
}  // namespace skein
