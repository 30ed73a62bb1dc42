#include "skein/ops/likeliest.h"

#include <algorithm>
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace skein
