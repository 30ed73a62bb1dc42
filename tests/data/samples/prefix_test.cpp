#include "skein/data/samples/prefix.h"

#include <cmath>
#include <gtest/gtest.h>

#include "skein/data/samples/loader.h"
#include "skein/data/samples/windows.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

TEST(DrawnPrefix, IsUniformAboutItsMean) {
  constexpr int kDraws = 20000;
  constexpr int64_t kLength = 40;
  for (const double mean : {0.25, 0.5, 0.75, 0.9}) {
    const double half = std::min(mean, 1 - mean);
    std::vector<int> counts(kLength + 1, 0);
    double sum = 0;
    for (uint64_t i = 0; i < kDraws; ++i) {
      const int64_t found = drawn_prefix(mean, kLength, Draws(7, i));
      ASSERT_GE(found, 1);
      ASSERT_LE(found, kLength);
      ++counts[static_cast<size_t>(found)];
      sum += static_cast<double>(found);
    }
    // A whole number of lengths between the ends, all of the same chance.
    const auto least = 1 + std::lround((mean - half) * kLength),
               most = std::lround((mean + half) * kLength);
    const double kinds = static_cast<double>(most - least + 1), chance = 1 / kinds;
    const double deviation = std::sqrt(chance * (1 - chance) * kDraws);
    for (int64_t length = 1; length <= kLength; ++length) {
      const bool inside = length >= least && length <= most;
      EXPECT_NEAR(counts[static_cast<size_t>(length)], inside ? chance * kDraws : 0,
                  inside ? 4.5 * deviation : 0)
          << mean << " " << length;
    }
    EXPECT_NEAR(sum / kDraws, mean * kLength + 0.5, 3 * kinds / std::sqrt(12.0 * kDraws)) << mean;
  }
  EXPECT_EQ(drawn_prefix(0.5, 1, Draws(7, 0)), 1);
}

// 0, 1, 2, ... below 100, in documents of 7.
std::string counting_store(const Scratch& scratch) {
  Documents documents;
  for (int32_t id = 0; id < 100; ++id) {
    if (id % 7 == 0) documents.emplace_back();
    documents.back().push_back(id);
  }
  write_store(scratch.file("counting.h5"), 100, -1, documents);
  return scratch.file("counting.h5");
}

TEST(LoaderWithPrefixes, LearnsWhatComesAfterThem) {
  const Scratch scratch;
  DataConfig config;
  config.prefix = 0.5;
  const Loader loader({counting_store(scratch)}, 9, 3, config);
  const Batch batch = loader.batch(0, 44);
  int64_t sum = 0;
  for (int64_t row = 0; row < 44; ++row) {
    const int32_t prefix = batch.prefix.data<int32_t>()[row];
    sum += prefix;
    for (int64_t t = 0; t < 9; ++t)
      EXPECT_EQ(row_of<float>(batch.weights, row)[t], t + 1 < prefix ? 0.0f : 1.0f);
  }
  EXPECT_GT(sum, 44 * 3);
  EXPECT_LT(sum, 44 * 7);
}

// Each epoch draws others, and so does another seed; who asks for which samples changes nothing.
TEST(LoaderWithPrefixes, DrawsBySeedSampleAndEpoch) {
  const Scratch scratch;
  DataConfig config;
  config.prefix = 0.5;
  config.shuffle = false;
  const std::string store = counting_store(scratch);
  const auto drawn = [&](uint64_t seed, int64_t first) {
    const Batch batch = Loader({store}, 9, seed, config).batch(first, 11);
    const auto prefix = batch.prefix.span<int32_t>();
    return std::vector<int32_t>(prefix.begin(), prefix.end());
  };
  EXPECT_EQ(drawn(3, 0), drawn(3, 0));
  EXPECT_NE(drawn(3, 0), drawn(3, 11));
  EXPECT_NE(drawn(3, 0), drawn(4, 0));
  const Loader loader({store}, 9, 3, config);
  const auto all = drawn(3, 0);
  for (int64_t i = 0; i < 11; ++i)
    EXPECT_EQ(loader.batch(i, 1).prefix.data<int32_t>()[0], all[static_cast<size_t>(i)]);
  EXPECT_EQ(batch_rows(loader.batch(0, 11), 4, 6).prefix.data<int32_t>()[1], all[5]);
}

TEST(LoaderWithPrefixes, RefusesWhatIsNoPart) {
  const Scratch scratch;
  const std::string store = counting_store(scratch);
  for (const double mean : {-0.1, 1.0, std::nan("")}) {
    DataConfig config;
    config.prefix = mean;
    EXPECT_EQ(refusal_of([&] { Loader({store}, 9, 3, config); }).find("lm.prefix="), 0u) << mean;
  }
}

TEST(LoaderWithAStride, LearnsTheEndOfEachWindow) {
  const Scratch scratch;
  DataConfig config;
  config.shuffle = false;
  config.stride = 4;
  const Loader loader({counting_store(scratch)}, 8, 3, config);
  EXPECT_EQ(loader.samples_per_epoch(), (100 - 1 - 8) / 4 + 1);
  std::vector<int> learnt(100, 0);
  const Batch batch = loader.batch(0, loader.samples_per_epoch());
  for (int64_t row = 0; row < batch.size(); ++row) {
    EXPECT_EQ(row_of<int32_t>(batch.tokens, row)[0], row * 4);
    for (int64_t t = 0; t < 8; ++t) {
      EXPECT_EQ(row_of<float>(batch.weights, row)[t], t < 4 ? 0.0f : 1.0f);
      if (t >= 4) ++learnt[static_cast<size_t>(row_of<int32_t>(batch.targets, row)[t])];
    }
  }
  // Each once, but for those before the first window's end and behind the last window.
  for (size_t id = 0; id < 100; ++id) EXPECT_EQ(learnt[id], id > 4 && id <= 96 ? 1 : 0) << id;
}

TEST(LoaderWithAStride, OfTheLengthIsOneWithout) {
  const Scratch scratch;
  const std::string store = counting_store(scratch);
  DataConfig config;
  const Batch plain = Loader({store}, 8, 3, config).batch(0, 12);
  config.stride = 8;
  const Batch strided = Loader({store}, 8, 3, config).batch(0, 12);
  for (int64_t i = 0; i < plain.tokens.size(); ++i) {
    EXPECT_EQ(plain.tokens.data<int32_t>()[i], strided.tokens.data<int32_t>()[i]);
    EXPECT_EQ(strided.weights.data<float>()[i], 1.0f);
  }
  for (const int64_t stride : {-1, 9}) {
    config.stride = stride;
    EXPECT_EQ(
        refusal_of([&] { Loader({store}, 8, 3, config); }),
        fmt::format("data.stride={} is outside of 1 to model.context=8; 0 stands for all of it",
                    stride));
  }
}

TEST(EvalWindows, MakeAPrefixOfWhatTheyDoNotScore) {
  const Scratch scratch;
  const TokenStore store(counting_store(scratch));
  for (const int64_t stride : {1, 3, 8}) {
    const EvalWindows windows(store, 8, stride, {}, true);
    for (int64_t w = 0; w < windows.count(); ++w) {
      const Batch batch = windows.batch(w, 1, 1);
      const auto weights = batch.weights.span<float>();
      const auto first = std::find(weights.begin(), weights.end(), 1.0f) - weights.begin();
      EXPECT_EQ(batch.prefix.data<int32_t>()[0], first + 1) << stride << " " << w;
    }
  }
  EXPECT_FALSE(EvalWindows(store, 8, 3, {}).batch(0, 1, 1).prefix.defined());
}

}  // namespace
}  // namespace skein::data
