// Which patches are hidden, and what stands in a batch then.
#include "skein/data/images/hidden_patches.h"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

#include "skein/data/images/image_samples.h"
#include "skein/data/images/rebuilt_pictures.h"

namespace skein::data {
namespace {

using Ids = std::vector<int32_t>;

Ids ids_of(const Tensor& x) {
  const auto ids = x.span<int32_t>();
  return {ids.begin(), ids.end()};
}

// 2 x 3 patches of 2 x 2 pixels, four of them hidden.
PictureForm picture_form() {
  return {.channels = 1,
          .height = 4,
          .width = 6,
          .patch_height = 2,
          .patch_width = 2,
          .mean = {0.5},
          .deviation = {0.25},
          .hidden = 4};
}

TEST(HiddenPatches, HaveTheLargestNumbers) {
  const std::vector<double> numbers{0.4, 0.9, 0.1, 0.4, 0.8};
  const PatchChoice two = hide_largest(numbers, 2), three = hide_largest(numbers, 3);
  EXPECT_EQ(two.seen, (Ids{0, 2, 3}));
  EXPECT_EQ(two.hidden, (Ids{1, 4}));
  EXPECT_EQ(three.seen, (Ids{0, 2}));  // of equal ones the later
  EXPECT_EQ(three.hidden, (Ids{1, 3, 4}));
}

TEST(HiddenPatches, AreDrawnEvenly) {
  std::vector<int64_t> times(6);
  for (uint64_t i = 0; i < 3000; ++i) {
    const PatchChoice one = hide_patches(picture_form(), Draws(7, i));
    EXPECT_EQ(one.seen.size(), 2u);
    EXPECT_EQ(one.hidden, hide_patches(picture_form(), Draws(7, i)).hidden);
    for (const int32_t patch : one.hidden) ++times[patch];
  }
  for (const int64_t count : times) EXPECT_NEAR(static_cast<double>(count), 2000, 120);
}

TEST(HiddenPatches, AreSaidInTheirOwnUnits) {
  const std::vector<float> patch{1, 2, 3, 6}, flat{4, 4, 4};
  const PatchUnits units = units_of(patch);
  EXPECT_DOUBLE_EQ(units.mean, 3);
  EXPECT_DOUBLE_EQ(units.deviation, std::sqrt(14.0 / 3 + 1e-6));
  EXPECT_DOUBLE_EQ(units_of(flat).deviation, 1e-3);
}

TEST(HiddenPatches, StandInABatchApartFromThoseThatAreSeen) {
  PictureForm of = picture_form();
  std::vector<float> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0f);
  const PatchChoice choice{{1, 4}, {0, 2, 3, 5}};
  for (const bool normed : {false, true}) {
    of.normed = normed;
    const Batch batch = hiding_batch(2, of);
    for (int64_t row = 0; row < 2; ++row) fill_hiding(batch, row, numbers, choice, of);
    EXPECT_EQ(batch.length(), 3);
    EXPECT_EQ(ids_of(batch.positions.rows(1, 2)), (Ids{0, 2, 5}));
    EXPECT_EQ(ids_of(batch.targets.rows(1, 2)), (Ids{1, 3, 4, 6}));
    EXPECT_EQ(batch.features.shape(), (Shape{2, 2, 4}));
    EXPECT_EQ(batch.features.rows(1, 2).span<float>()[5], 17);
    EXPECT_EQ(batch.values.shape(), (Shape{2, 4, 4}));
    EXPECT_EQ(batch.weights.shape(), (Shape{2, 4}));
    const auto values = batch.values.rows(1, 2).span<float>();
    const double deviation = std::sqrt(5.0 / 3 + 1e-6);
    EXPECT_FLOAT_EQ(values[4], normed ? static_cast<float>(-1.5 / deviation) : 8.0f);
    EXPECT_FLOAT_EQ(values[15], normed ? static_cast<float>(1.5 / deviation) : 23.0f);
  }
}

// What is said right rebuilds the picture.
TEST(HiddenPatches, AreDrawn) {
  PictureForm of = picture_form();
  Image picture{1, 4, 6, std::vector<uint8_t>(24)};
  for (size_t i = 0; i < 24; ++i) picture.values[i] = static_cast<uint8_t>(i * 9);
  const Ids hidden{0, 2, 3, 5};
  for (const bool normed : {false, true}) {
    of.normed = normed;
    std::vector<float> said(16, 0.0f);
    const auto row = rebuilt_row(picture, hidden, said, of);
    ASSERT_EQ(row.size(), 3u);
    EXPECT_EQ(row[0].values, picture.values);
    EXPECT_EQ(row[1].values[0], 128);
    EXPECT_EQ(row[1].values[2], picture.values[2]);
    // the mean of the patch, or of all pictures
    EXPECT_NEAR(row[2].values[0], normed ? 31.5 : 127.5, 0.51);
    EXPECT_EQ(row[2].values[3], picture.values[3]);
  }
  of.normed = false;
  std::vector<float> right;
  for (const int32_t patch : hidden)
    for (int64_t i = 0; i < 4; ++i) {
      const int64_t y = patch / 3 * 2 + i / 2, x = patch % 3 * 2 + i % 2;
      right.push_back(static_cast<float>((picture.values[y * 6 + x] / 255.0 - 0.5) / 0.25));
    }
  EXPECT_EQ(rebuilt_row(picture, hidden, right, of)[2].values, picture.values);
  right[0] = std::nanf("");
  right[1] = 1e30f;
  const auto odd = rebuilt_row(picture, hidden, right, of)[2].values;
  EXPECT_EQ(odd[0], 0);
  EXPECT_EQ(odd[1], 255);
}

// What is said of colours lies row, column, channel.
TEST(HiddenPatches, OfColoursAreRebuiltFromWhatABatchHas) {
  const PictureForm of{.channels = 3,
                       .height = 2,
                       .width = 4,
                       .patch_height = 2,
                       .patch_width = 2,
                       .mean = {0.5, 0.25, 0.75},
                       .deviation = {0.25, 0.5, 0.125},
                       .hidden = 1,
                       .normed = true};
  Image picture{3, 2, 4, std::vector<uint8_t>(24)};
  for (size_t i = 0; i < 24; ++i) picture.values[i] = static_cast<uint8_t>(i * i % 251);
  std::vector<float> numbers(24);
  fill_patches(picture, of, numbers.data());
  const Batch batch = hiding_batch(1, of);
  fill_hiding(batch, 0, numbers, {{0}, {1}}, of);
  const auto values = batch.values.span<float>();
  const PatchUnits units = units_of(std::span(numbers).subspan(12));
  EXPECT_FLOAT_EQ(values[1], static_cast<float>((numbers[12 + 4] - units.mean) / units.deviation));
  EXPECT_EQ(rebuilt_row(picture, Ids{1}, values, of)[2].values, picture.values);
}

}  // namespace
}  // namespace skein::data
