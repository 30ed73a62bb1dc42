// That whatever cuts, moves or copies a batch knows all its fields, and what is left without its
// padding.
#include <algorithm>
#include <gtest/gtest.h>

#include "skein/data/samples/batch_fields.h"

namespace skein::data {
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

TEST(Trimmed, WithoutNamedPlacesEachTokenIsOne) {
  Batch batch = padded();
  batch.places = {};
  batch.targets = filled(2, 40, 7);
  batch.weights = Tensor::zeros({2, 40}, DType::f32);
  batch.known = {};
  const Batch made = trimmed(batch, 8);
  EXPECT_EQ(made.targets.shape(), (Shape{2, 16}));
  EXPECT_EQ(made.weights.shape(), (Shape{2, 16}));
}

TEST(Trimmed, LeavesBatchesThatTellNoLengthsAlone) {
  Batch batch = padded();
  batch.lengths = {};
  const Batch made = trimmed(batch, 8);
  EXPECT_EQ(made.tokens.bytes_data(), batch.tokens.bytes_data());
  EXPECT_EQ(made.places.bytes_data(), batch.places.bytes_data());
}

TEST(Trimmed, CutsPlacesWithTheTokensWhereNoneAreNamed) {
  Batch batch = padded();
  batch.places = {};
  batch.targets = batch.tokens.clone();
  batch.weights = Tensor::zeros({2, 40}, DType::f32);
  batch.known = Tensor::zeros({2, 40, 1}, DType::f32);
  const Batch made = trimmed(batch, 8);
  EXPECT_EQ(numbers_of(made.targets), numbers_of(made.tokens));
  EXPECT_EQ(made.weights.shape(), (Shape{2, 16}));
  EXPECT_EQ(made.known.shape(), (Shape{2, 16, 1}));
}

// Two samples that have every field, both sides of 40 tokens, with numbers that occur once.
Batch every_field(int32_t first) {
  Batch batch;
  for_each_field(
      [&](const FieldKind& kind, Tensor& part) {
        if (kind.second == FieldDim::none)
          part = Tensor::zeros({2}, DType::i32);
        else
          part = filled(2, kind.second == FieldDim::token ? 40 : 20, 0);
        for (int32_t& number : part.span<int32_t>()) number = first++;
      },
      batch);
  batch.lengths = Tensor::from(std::vector<int32_t>{3, 11}, {2});
  batch.source.lengths = Tensor::from(std::vector<int32_t>{20, 9}, {2});
  batch.places = padded().places;
  for (Sequence* side : {static_cast<Sequence*>(&batch), &batch.source}) {
    side->distances = Tensor::from(std::vector<int32_t>(2 * 40 * 40, first++), {2, 40, 40});
    side->links = Tensor::from(std::vector<int32_t>(2 * 20 * 2, first++), {2, 20, 2});
  }
  return batch;
}

TEST(BatchFields, AreAllListedAndOnce) {
  std::vector<const Tensor*> listed;
  const Batch batch;
  for_each_field([&](const FieldKind&, const Tensor& part) { listed.push_back(&part); }, batch);
  std::sort(listed.begin(), listed.end());
  ASSERT_EQ(listed.size() * sizeof(Tensor), sizeof(Batch));
  for (size_t i = 0; i < listed.size(); ++i)
    EXPECT_EQ(listed[i], reinterpret_cast<const Tensor*>(&batch) + i);
}

TEST(BatchFields, AllHaveTheRowsThatAreCutOut) {
  const Batch whole = every_field(0), second = batch_rows(whole, 1, 2);
  for_each_field(
      [](const FieldKind& kind, const Tensor& of, const Tensor& made) {
        ASSERT_EQ(made.defined(), kind.first == FieldDim::sample);
        if (made.defined()) {
          EXPECT_EQ(numbers_of(made), numbers_of(of.rows(1, 2)));
        }
      },
      whole, second);
}

// Columns [0, count) of both rows.
std::vector<int32_t> first_of(const Tensor& x, int64_t count) {
  std::vector<int32_t> made;
  for (int64_t row : {0, 1})
    for (int64_t i = 0; i < count; ++i) made.push_back(x.data<int32_t>()[row * x.dim(1) + i]);
  return made;
}

TEST(BatchFields, AreAllTrimmedEachSideByItsOwnLength) {
  const Batch whole = every_field(0), made = trimmed(whole, 8);
  for (const auto& field : kSequenceFields) {
    if (field.kind.second != FieldDim::token || field.tensor == &Sequence::distances) continue;
    EXPECT_EQ(numbers_of(made.*field.tensor), first_of(whole.*field.tensor, 16));
    EXPECT_EQ(numbers_of(made.source.*field.tensor), first_of(whole.source.*field.tensor, 24));
  }
  for (const auto& field : kBatchFields) {
    if (field.kind.second != FieldDim::place) continue;
    EXPECT_EQ(numbers_of(made.*field.tensor), first_of(whole.*field.tensor, 8));
  }
  EXPECT_EQ(made.distances.shape(), (Shape{2, 16, 16}));
  EXPECT_EQ(numbers_of(made.lengths), numbers_of(whole.lengths));
  EXPECT_EQ(numbers_of(made.source.lengths), numbers_of(whole.source.lengths));
}

TEST(BatchFields, OfLinksAreTrimmedByTheSampleWithTheMost) {
  Batch whole = every_field(0);
  int32_t* const ends = whole.links.data<int32_t>();
  std::fill(ends + 2 * 5, ends + 2 * 20, -1);
  std::fill(ends + 2 * (20 + 9), ends + 2 * 40, -1);
  const Batch made = trimmed(whole, 8);
  EXPECT_EQ(made.links.shape(), (Shape{2, 16, 2}));
  EXPECT_EQ(numbers_of(made.link_kinds), first_of(whole.link_kinds, 16));
  EXPECT_EQ(trimmed(batch_rows(whole, 0, 1), 8).links.shape(), (Shape{1, 8, 2}));
}

TEST(BatchFields, AreAllPlaced) {
  const Batch whole = every_field(0), made = placed(whole, {});
  for_each_field(
      [](const FieldKind& kind, const Tensor& of, const Tensor& there) {
        if (kind.first == FieldDim::sample) {
          EXPECT_EQ(numbers_of(there), numbers_of(of));
        }
      },
      whole, made);
  EXPECT_EQ(made.place_rows.shape(), Shape{40});
  EXPECT_EQ(numbers_of(made.place_rows.flat(0, 3)), (std::vector<int32_t>{1, 2, -1}));
  EXPECT_EQ(made.place_rows.data<int32_t>()[20], 40 + 10);
  EXPECT_EQ(made.row_places.shape(), Shape{80});
  EXPECT_EQ(numbers_of(made.row_places.flat(0, 3)), (std::vector<int32_t>{-1, 0, 1}));
}

TEST(BatchFields, OnTheDeviceAreAllRecordedAndTakenOver) {
  const Batch first = every_field(0), recorded = with_own_bytes(first);
  for_each_field(
      [](const FieldKind& kind, const Tensor& given, const Tensor& own) {
        EXPECT_EQ(numbers_of(own), numbers_of(given));
        EXPECT_EQ(own.bytes_data() == given.bytes_data(), kind.home == FieldHome::host);
      },
      first, recorded);
  const Batch next = every_field(1000);
  EXPECT_TRUE(same_shapes(next, recorded));
  copy_bytes(next, recorded);
  for_each_field(
      [](const FieldKind& kind, const Tensor& given, const Tensor& own) {
        if (kind.home == FieldHome::device) {
          EXPECT_EQ(numbers_of(own), numbers_of(given));
        }
      },
      next, recorded);
}

TEST(BatchFields, DifferWhereOneIsMissingOrShorter) {
  const Batch whole = every_field(0);
  Batch other = whole;
  other.source.types = {};
  EXPECT_FALSE(same_shapes(whole, other));
  EXPECT_THROW(copy_bytes(other, whole), Error);
  other = whole;
  other.values = filled(2, 19, 0);
  EXPECT_FALSE(same_shapes(whole, other));
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
}  // namespace skein::data
