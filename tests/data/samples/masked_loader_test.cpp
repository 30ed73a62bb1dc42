#include "skein/data/samples/masked_loader.h"

#include <gtest/gtest.h>
#include <set>

#include "data/data_fixtures.h"
#include "data/masked_fixtures.h"

namespace skein::data {
namespace {

using test::expect_error;
using test::kCls;
using test::kMask;
using test::kPad;
using test::kSep;
using test::row;
using test::Scratch;

constexpr int64_t kLength = 24;

class MaskedSamples : public testing::Test {
 protected:
  MaskedSamples() { test::write_sentence_store(store_); }
  MaskedLoader loader(const MaskConfig& mask = {}, const DataConfig& data = {}) const {
    return {{store_}, kLength, 5, data, mask};
  }

  Scratch scratch_;
  std::string store_ = scratch_.file("train.h5");
};

// The tokens of a row before some were hidden.
std::vector<int32_t> unmasked(const Batch& batch, int64_t at) {
  std::vector<int32_t> ids = row<int32_t>(batch.tokens, at);
  for (int64_t i = 0; i < batch.places.dim(1); ++i) {
    const int32_t place = batch.places.data<int32_t>()[at * batch.places.dim(1) + i];
    if (place >= 0)
      ids[static_cast<size_t>(place)] = batch.targets.data<int32_t>()[at * batch.places.dim(1) + i];
  }
  return ids;
}

TEST_F(MaskedSamples, OfRunningTextAreTheTextBetweenClsAndSep) {
  DataConfig data;
  data.shuffle = false;
  const MaskedLoader samples = loader({}, data);
  const auto text = test::all_tokens(samples.store(0));
  EXPECT_EQ(samples.samples_per_epoch(), static_cast<int64_t>(text.size()) / (kLength - 2));
  const Batch batch = samples.batch(0, 5);
  EXPECT_FALSE(batch.segments.defined());
  EXPECT_FALSE(batch.types.defined());
  EXPECT_EQ(batch.places.dim(1), 4);  // 15% of 24
  for (int64_t sample = 0; sample < 5; ++sample) {
    std::vector<int32_t> wanted{kCls};
    wanted.insert(wanted.end(), text.begin() + sample * (kLength - 2),
                  text.begin() + (sample + 1) * (kLength - 2));
    wanted.push_back(kSep);
    EXPECT_EQ(unmasked(batch, sample), wanted);
    EXPECT_EQ(batch.positions.data<int32_t>()[sample * kLength + 7], 7);
    EXPECT_EQ(batch.sample_ids.data<int64_t>()[sample], sample);
  }
  float counted = 0;
  for (float weight : batch.weights.span<float>()) counted += weight;
  for (int64_t i = 0; i < batch.places.size(); ++i)
    EXPECT_EQ(batch.weights.data<float>()[i] > 0, batch.places.data<int32_t>()[i] >= 0);
  EXPECT_GE(counted, 5 * 2);
}

TEST_F(MaskedSamples, AreFunctionsOfTheirNumbers) {
  const MaskedLoader samples = loader(), again = loader();
  const Batch whole = samples.batch(3, 6);
  for (int64_t i = 5; i >= 0; --i) {
    const Batch one = again.batch(3 + i, 1);
    EXPECT_EQ(row<int32_t>(one.tokens, 0), row<int32_t>(whole.tokens, i));
    EXPECT_EQ(row<int32_t>(one.places, 0), row<int32_t>(whole.places, i));
    EXPECT_EQ(row<int32_t>(one.targets, 0), row<int32_t>(whole.targets, i));
  }
}

TEST_F(MaskedSamples, HaveOtherMasksInEachEpochUnlessStatic) {
  DataConfig data;
  data.shuffle = false;
  for (const bool fixed : {false, true}) {
    MaskConfig mask;
    mask.fixed = fixed;
    const MaskedLoader samples = loader(mask, data);
    const int64_t epoch = samples.samples_per_epoch();
    int64_t same = 0;
    for (int64_t i = 0; i < 10; ++i) {
      const Batch first = samples.batch(i, 1), second = samples.batch(epoch + i, 1);
      EXPECT_EQ(unmasked(first, 0), unmasked(second, 0));
      same += row<int32_t>(first.places, 0) == row<int32_t>(second.places, 0);
    }
    if (fixed)
      EXPECT_EQ(same, 10);
    else
      EXPECT_LT(same, 3);
  }
}

TEST_F(MaskedSamples, KeepDocumentsApartWhereAsked) {
  DataConfig data;
  data.cross_document_attention = false;
  const Batch batch = loader({}, data).batch(0, 20);
  int64_t ends = 0;
  for (int64_t sample = 0; sample < 20; ++sample) {
    const auto ids = unmasked(batch, sample), segments = row<int32_t>(batch.segments, sample),
               positions = row<int32_t>(batch.positions, sample);
    for (size_t t = 1; t < ids.size(); ++t) {
      const bool begins = segments[t] != segments[t - 1];
      if (begins) {
        EXPECT_EQ(ids[t - 1], kSep);
      }
      EXPECT_EQ(positions[t], begins ? 0 : positions[t - 1] + 1);
      ends += begins;
    }
    EXPECT_EQ(segments[0], 0);
  }
  EXPECT_GT(ends, 3);
}

TEST_F(MaskedSamples, OfPairsHaveTwoPartsTypesAndPadding) {
  MaskConfig mask;
  mask.pairs = PairTask::next;
  const Batch batch = loader(mask).batch(0, 40);
  std::set<int32_t> labels;
  int64_t padded = 0;
  for (int64_t sample = 0; sample < 40; ++sample) {
    const auto ids = unmasked(batch, sample), types = row<int32_t>(batch.types, sample),
               segments = row<int32_t>(batch.segments, sample);
    const auto first = std::find(ids.begin(), ids.end(), kSep),
               second = std::find(first + 1, ids.end(), kSep);
    ASSERT_NE(second, ids.end());
    EXPECT_EQ(ids.front(), kCls);
    EXPECT_GT(first - ids.begin(), 1);
    EXPECT_GT(second - first, 1);
    for (auto at = ids.begin(); at != ids.end(); ++at) {
      const auto t = static_cast<size_t>(at - ids.begin());
      EXPECT_EQ(types[t], at > first && at <= second ? 1 : 0);
      EXPECT_EQ(segments[t], at > second ? -1 : 0);
      if (at > second) {
        EXPECT_EQ(*at, kPad);
      }
      padded += at > second;
    }
    labels.insert(batch.pair_labels.data<int32_t>()[sample]);
  }
  EXPECT_EQ(labels, (std::set<int32_t>{0, 1}));
  EXPECT_GT(padded, 0);
}

TEST_F(MaskedSamples, HideWholeWords) {
  MaskConfig mask;
  mask.unit = MaskUnit::word;
  mask.rate = 0.3;
  mask.masked = 1;
  mask.random = 0;
  const Batch batch = loader(mask).batch(0, 20);
  for (int64_t sample = 0; sample < 20; ++sample) {
    const auto ids = unmasked(batch, sample), shown = row<int32_t>(batch.tokens, sample);
    for (size_t t = 1; t < ids.size(); ++t)
      if (ids[t] >= 48 && ids[t - 1] > 4) {
        EXPECT_EQ(shown[t] == kMask, shown[t - 1] == kMask) << sample << " " << t;
      }
  }
}

TEST_F(MaskedSamples, RefuseWhatCannotBe) {
  const std::string plain = scratch_.file("bytes.h5");
  test::write_store(plain, 257, 256, {test::ascending(0, 200)}, R"({"type":"bytes","version":1})");
  expect_error(ExitCode::usage, {"bytes.h5", "CLS"},
               [&] { MaskedLoader({plain}, kLength, 1, {}, {}); });
  expect_error(ExitCode::usage, {"train.h5", "5000", "4998"},
               [&] { MaskedLoader({store_}, 5000, 1, {}, {}); });
  const std::string larger = scratch_.file("larger.h5");
  test::write_store(larger, 70, kSep, {test::ascending(5, 60)}, test::small_wordpiece());
  expect_error(ExitCode::usage, {"larger.h5", "69", "64"},
               [&] { MaskedLoader({larger}, kLength, 1, {}, {}); });
  expect_error(ExitCode::usage, {"at least 8"}, [&] { MaskedLoader({store_}, 7, 1, {}, {}); });
}

}  // namespace
}  // namespace skein::data
