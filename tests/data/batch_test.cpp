// What is left of a batch without its padding.
#include "skein/data/samples/batch.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

std::vector<int32_t> numbers_of(const Tensor& tensor) {
  return {tensor.data<int32_t>(), tensor.data<int32_t>() + tensor.size()};
}

// Two rows of 40 tokens, of which 3 and 11 are no padding, with 20 places, of which 2 and 1 are
// there.
Batch padded() {
  Batch batch;
  batch.tokens = filled(2, 40, 0);
  for (int32_t i = 0; i < 80; ++i) batch.tokens.data<int32_t>()[i] = i;
  batch.positions = filled(2, 40, 5);
  batch.segments = filled(2, 40, -1);
  batch.places = filled(2, 20, -1);
  batch.places.data<int32_t>()[0] = 1;
  batch.places.data<int32_t>()[1] = 2;
  batch.places.data<int32_t>()[20] = 10;
  batch.targets = filled(2, 20, 7);
  batch.weights = Tensor::zeros({2, 1}, DType::f32);
  batch.known = Tensor::zeros({2, 20, 3}, DType::f32);
  for (int64_t i = 0; i < 120; ++i) batch.known.data<float>()[i] = static_cast<float>(i);
  batch.sample_ids = Tensor::zeros({2}, DType::i64);
  batch.lengths = Tensor::from(std::vector<int32_t>{3, 11}, {2});
  return batch;
}

TEST(Trimmed, KeepsWhatTheLongestRowHas) {
  const Batch made = trimmed(padded(), 8);
  EXPECT_EQ(made.length(), 16);
  std::vector<int32_t> tokens;
  for (int32_t row : {0, 1})
    for (int32_t t = 0; t < 16; ++t) tokens.push_back(row * 40 + t);
  EXPECT_EQ(numbers_of(made.tokens), tokens);
  EXPECT_EQ(made.positions.shape(), (Shape{2, 16}));
  EXPECT_EQ(made.segments.shape(), (Shape{2, 16}));
  EXPECT_EQ(numbers_of(made.places),
            (std::vector<int32_t>{1, 2, -1, -1, -1, -1, -1, -1, 10, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(made.targets.shape(), (Shape{2, 8}));
  EXPECT_EQ(made.weights.shape(), (Shape{2, 1})) << "of samples, not of places";
  EXPECT_EQ(made.known.shape(), (Shape{2, 8, 3}));
  EXPECT_EQ(made.known.data<float>()[23], 23);
  EXPECT_EQ(made.known.data<float>()[24], 60) << "the second row's first";
  EXPECT_EQ(trimmed(batch_rows(padded(), 0, 1), 8).length(), 8) << "a micro-batch has its own";
}

TEST(Trimmed, LeavesBatchesThatTellNoLengthsAlone) {
  Batch batch = padded();
  batch.lengths = {};
  const Batch made = trimmed(batch, 8);
  EXPECT_EQ(made.tokens.bytes_data(), batch.tokens.bytes_data());
  EXPECT_EQ(made.places.bytes_data(), batch.places.bytes_data());
}

TEST(RoundedLength, LosesAnEighthAndHasFewValues) {
  EXPECT_EQ(rounded_length(1, 8, 1000), 8);
  EXPECT_EQ(rounded_length(9, 8, 1000), 16);
  EXPECT_EQ(rounded_length(128, 8, 1000), 128);
  EXPECT_EQ(rounded_length(129, 8, 1000), 144);
  EXPECT_EQ(rounded_length(300, 8, 1000), 320);
  EXPECT_EQ(rounded_length(300, 24, 1000), 312);
  EXPECT_EQ(rounded_length(999, 8, 1000), 1000);
  EXPECT_EQ(rounded_length(5, 8, 6), 6);
  std::vector<int64_t> values;
  for (int64_t length = 1; length <= 4096; ++length) {
    const int64_t made = rounded_length(length, 8, 1 << 20);
    EXPECT_GE(made, length);
    EXPECT_TRUE(made <= 8 || made % 8 == 0);
    if (length > 128) {
      EXPECT_LE(made, length + length / 8) << length;
    }
    if (values.empty() || values.back() != made) values.push_back(made);
  }
  EXPECT_EQ(values.size(), size_t{16 + 5 * 8});
}

}  // namespace
}  // namespace skein
