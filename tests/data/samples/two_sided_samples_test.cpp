// Pairs as batches with two sides: rows, lengths, order.
#include "skein/data/samples/two_sided_samples.h"

#include <map>
#include <set>

#include "skein/core/numbers.h"
#include "skein/data/columns/record_sink.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Ids = std::vector<int32_t>;

constexpr int32_t kStart = 90, kStop = 91, kFill = 92, kBegin = 93;

ColumnInfo tokens(const std::string& name) {
  return {.name = name,
          .meaning = TokenMeaning{.tokenizer = text::StoredTokenizer("{}"), .vocab_size = 100},
          .ragged = true,
          .type = {Hdf5Type::Kind::integer, 1, false},
          .row_shape = {}};
}

// Pair k has a source of sources[k] tokens k, and a target of targets[k] tokens 50 + k.
std::shared_ptr<const Records> records_of(const std::vector<int64_t>& sources,
                                          const std::vector<int64_t>& targets) {
  RecordBuilder builder("pairs.tsv", {tokens("source"), tokens("target")});
  for (size_t k = 0; k < sources.size(); ++k) {
    const auto id = static_cast<int32_t>(k % 40);
    builder.add_tokens(0, Ids(static_cast<size_t>(sources[k]), id), 1);
    builder.add_tokens(1, Ids(static_cast<size_t>(targets[k]), 50 + id), 1);
    builder.end_record();
  }
  return std::make_shared<const Records>(builder.finish());
}

PairForm pair_form() {
  return {.source = {{}, {kStop}},
          .target = {{kBegin}, {kStop}},
          .start = kStart,
          .source_pad = kFill,
          .target_pad = kFill};
}

TwoSidedSamples samples_of(const std::shared_ptr<const Records>& records,
                           const TwoSidedConfig& config, const TwoSidedOrder& order = {}) {
  std::vector<PairRows> parts;
  parts.emplace_back(records, pair_form(), config);
  return {std::move(parts), {1}, pair_form(), config, order};
}

std::shared_ptr<const Records> many(int64_t count) {
  std::vector<int64_t> sources, targets;
  for (int64_t k = 0; k < count; ++k) {
    sources.push_back(1 + k * 7 % 23);
    targets.push_back(1 + k * 5 % 17);
  }
  return records_of(sources, targets);
}

// What a sample is, whatever the padding of its batch: its tokens of both sides, its labels and its
// number.
std::vector<Ids> sample_in(const Batch& batch, int64_t number) {
  const auto cut = [&](const Tensor& x, const Sequence& side) {
    Ids ids = row<int32_t>(x, number);
    ids.resize(static_cast<size_t>(side.lengths.data<int32_t>()[number]));
    return ids;
  };
  return {cut(batch.source.tokens, batch.source),
          cut(batch.source.positions, batch.source),
          cut(batch.source.segments, batch.source),
          cut(batch.tokens, batch),
          cut(batch.positions, batch),
          cut(batch.segments, batch),
          cut(batch.targets, batch),
          {static_cast<int32_t>(batch.sample_ids.data<int64_t>()[number])}};
}

std::vector<std::vector<Ids>> samples_in(const TwoSidedSamples& samples, int64_t first,
                                         int64_t count, int64_t cut) {
  std::vector<std::vector<Ids>> all;
  for (int64_t at = first; at < first + count; at += cut) {
    const Batch batch = samples.batch(at, std::min(cut, first + count - at));
    for (int64_t i = 0; i < batch.size(); ++i) all.push_back(sample_in(batch, i));
  }
  return all;
}

TEST(TwoSided, ARowHasShiftedLabelsAndPaddingThatDoesNotCount) {
  const TwoSidedConfig config{.source_length = 8, .target_length = 8};
  const Batch batch =
      samples_of(records_of({2, 3}, {2, 1}), config, {.multiple = 4, .shuffle = false}).batch(0, 2);
  EXPECT_EQ(batch.source.tokens.shape(), (Shape{2, 4}));
  EXPECT_EQ(batch.tokens.shape(), (Shape{2, 4}));
  EXPECT_EQ(row<int32_t>(batch.source.tokens, 0), (Ids{0, 0, kStop, kFill}));
  EXPECT_EQ(row<int32_t>(batch.source.positions, 0), (Ids{0, 1, 2, 0}));
  EXPECT_EQ(row<int32_t>(batch.source.segments, 0), (Ids{0, 0, 0, -1}));
  EXPECT_EQ(row<int32_t>(batch.tokens, 0), (Ids{kStart, kBegin, 50, 50}));
  EXPECT_EQ(row<int32_t>(batch.targets, 0), (Ids{kBegin, 50, 50, kStop}));
  EXPECT_EQ(row<float>(batch.weights, 0), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_EQ(row<int32_t>(batch.tokens, 1), (Ids{kStart, kBegin, 51, kFill}));
  EXPECT_EQ(row<int32_t>(batch.targets, 1), (Ids{kBegin, 51, kStop, 0}));
  EXPECT_EQ(row<int32_t>(batch.segments, 1), (Ids{0, 0, 0, -1}));
  EXPECT_EQ(row<float>(batch.weights, 1), (std::vector<float>{1, 1, 1, 0}));
  EXPECT_EQ(batch.source.lengths.data<int32_t>()[1], 4);
  EXPECT_EQ(batch.lengths.data<int32_t>()[1], 3);
  EXPECT_EQ(batch.sample_ids.data<int64_t>()[1], 1);
  EXPECT_FALSE(batch.places.defined());
}

TEST(TwoSided, MicroBatchesLoseThePaddingOfBothSidesAndOfLabels) {
  const TwoSidedConfig config{.source_length = 32, .target_length = 32};
  const Batch batch =
      samples_of(records_of({2, 30}, {20, 1}), config, {.shuffle = false}).batch(0, 2);
  EXPECT_EQ(batch.source.length(), 32);
  EXPECT_EQ(batch.length(), 24);
  const Batch first = trimmed(batch_rows(batch, 0, 1), 8),
              second = trimmed(batch_rows(batch, 1, 2), 8);
  EXPECT_EQ(first.source.length(), 8);
  EXPECT_EQ(first.length(), 24);
  EXPECT_EQ(second.source.length(), 32);
  EXPECT_EQ(second.length(), 8);
  EXPECT_EQ(second.targets.shape(), (Shape{1, 8}));
  EXPECT_EQ(second.weights.shape(), (Shape{1, 8}));
  EXPECT_EQ(sample_in(second, 0), sample_in(batch, 1));
  EXPECT_EQ(row<int32_t>(second.targets, 0), (Ids{kBegin, 51, kStop, 0, 0, 0, 0, 0}));
}

TEST(TwoSided, LongSidesLoseTheirEndOrAreLeftOut) {
  TwoSidedConfig config{.source_length = 4, .target_length = 5};
  const auto records = records_of({3, 4, 1, 9}, {3, 1, 4, 9});
  const TwoSidedSamples cut = samples_of(records, config, {.shuffle = false});
  const TwoSidedCounts counts = cut.parts().front().counts();
  EXPECT_EQ(counts.cut_sources, 2);
  EXPECT_EQ(counts.cut_targets, 2);
  EXPECT_EQ(counts.dropped, 0);
  EXPECT_EQ(counts.source_tokens, 4 + 4 + 2 + 4);
  EXPECT_EQ(counts.target_tokens, 5 + 3 + 5 + 5);
  const auto last = sample_in(cut.batch(3, 1), 0);
  EXPECT_EQ(last[0], (Ids{3, 3, 3, kStop}));
  EXPECT_EQ(last[6], (Ids{kBegin, 53, 53, 53, kStop}));
  EXPECT_EQ(told_counts(counts, config, "x"),
            "4 pairs of x in 4 rows, 14 tokens of sources, 18 of targets; 2 sources lost their end "
            "(task.source_length=4); 2 targets lost their end (task.target_length=5)");

  config.longer = LongPairs::drop;
  const TwoSidedSamples dropped =
      samples_of(records_of({9, 3, 1, 2}, {1, 3, 4, 1}), config, {.shuffle = false});
  const TwoSidedCounts without = dropped.parts().front().counts();
  EXPECT_EQ(without.dropped, 2);
  EXPECT_EQ(dropped.samples_per_epoch(), 2);
  EXPECT_EQ(sample_in(dropped.batch(0, 1), 0)[0], (Ids{1, 1, 1, kStop}));
  EXPECT_EQ(sample_in(dropped.batch(1, 1), 0)[0], (Ids{3, 3, kStop}));
  EXPECT_NE(told_counts(without, config, "x").find("2 were left out"), std::string::npos);
  expect_error(ExitCode::usage,
               {"none of the 1 pairs of pairs.tsv", "task.source_length=4", "task.too_long=cut"},
               [&] { samples_of(records_of({9}, {9}), config); });
  config.target_length = 2;
  expect_error(ExitCode::usage, {"task.target_length=2", "the 2 tokens"},
               [&] { samples_of(records, config); });
}

TEST(TwoSided, ThePaddingTokenInATextIsRefused) {
  RecordBuilder builder("pairs.h5", {tokens("source"), tokens("target")});
  for (const Ids& target : {Ids{1}, Ids{2, kFill}}) {
    builder.add_tokens(0, Ids{5}, 1);
    builder.add_tokens(1, target, 1);
    builder.end_record();
  }
  const TwoSidedSamples samples =
      samples_of(std::make_shared<const Records>(builder.finish()),
                 {.source_length = 8, .target_length = 8}, {.shuffle = false});
  EXPECT_EQ(samples.batch(0, 1).size(), 1);
  expect_error(ExitCode::usage, {"pairs.h5", "the target of pair 1", "token 92", "pads"},
               [&] { samples.batch(1, 1); });
}

TEST(TwoSided, SamplesAreTheSameAtAnyCutAndFromAnyStart) {
  const auto records = many(53);
  for (const bool pack : {false, true})
    for (const int64_t group : {1, 4, 7}) {
      const TwoSidedConfig config{.source_length = 40, .target_length = 30, .pack = pack};
      const TwoSidedOrder order{.group = group, .seed = 5};
      const TwoSidedSamples samples = samples_of(records, config, order);
      const auto whole = samples_in(samples, 0, 140, 140);
      for (const int64_t cut : {1, 2, 5, 28})
        EXPECT_TRUE(samples_in(samples, 0, 140, cut) == whole) << group << " " << cut;
      const TwoSidedSamples again = samples_of(records, config, order);
      EXPECT_TRUE(samples_in(again, 77, 63, 9) == std::vector(whole.begin() + 77, whole.end()))
          << "a run that goes on";
    }
}

TEST(TwoSided, GroupsAreSortedAndEachPassHasEverySampleOnce) {
  const auto records = many(53);
  const TwoSidedConfig config{.source_length = 40, .target_length = 30};
  const TwoSidedSamples plain = samples_of(records, config, {.group = 1, .seed = 5}),
                        sorted = samples_of(records, config, {.group = 8, .seed = 5});
  const auto lengths = [](const std::vector<Ids>& sample) {
    return std::pair(sample[0].size(), sample[3].size());
  };
  auto before = samples_in(plain, 0, 159, 159), after = samples_in(sorted, 0, 159, 159);
  for (auto* all : {&before, &after})
    for (auto& sample : *all) sample.back().clear();  // without its number
  EXPECT_TRUE(before != after);
  for (int64_t pass = 0; pass < 159; pass += 53) {
    std::multiset<std::vector<Ids>> once(before.begin() + pass, before.begin() + pass + 53),
        again(after.begin() + pass, after.begin() + pass + 53);
    EXPECT_TRUE(once == again) << pass;
  }
  for (size_t i = 1; i < after.size(); ++i)
    if (i % 8 != 0 && i % 53 != 0) {
      EXPECT_LE(lengths(after[i - 1]), lengths(after[i])) << i;
    }
  const auto group = [](const auto& all, int64_t first) {
    return std::multiset<std::vector<Ids>>(all.begin() + first, all.begin() + first + 8);
  };
  EXPECT_TRUE(group(before, 16) == group(after, 16)) << "a group has the same samples";
}

TEST(TwoSided, ValidationGoesThroughPairsInTheirOrder) {
  const TwoSidedConfig config{.source_length = 40, .target_length = 30};
  const TwoSidedSamples samples = samples_of(many(11), config, {.shuffle = false});
  const auto all = samples_in(samples, 0, 11, 4);
  for (int32_t k = 0; k < 11; ++k) {
    EXPECT_EQ(all[static_cast<size_t>(k)][0][0], k);
    EXPECT_EQ(all[static_cast<size_t>(k)].back(), Ids{k});
  }
}

TEST(TwoSided, PackedRowsHoldEachPairOnceBlindToTheOthers) {
  const auto records = many(200);
  const TwoSidedConfig config{.source_length = 40, .target_length = 30, .pack = true};
  const TwoSidedSamples samples = samples_of(records, config, {.multiple = 8, .shuffle = false});
  const int64_t rows = samples.samples_per_epoch();
  EXPECT_LT(rows, 90);
  EXPECT_EQ(samples.parts().front().counts().rows, rows);
  std::multiset<Ids> sources, wanted;
  for (int64_t k = 0; k < 200; ++k) {
    Ids source = records->tokens(0, k);
    source.push_back(kStop);
    wanted.insert(source);
  }
  const Batch batch = samples.batch(0, rows);
  for (int64_t r = 0; r < rows; ++r) {
    const auto sample = sample_in(batch, r);
    EXPECT_LE(sample[0].size(), 40u);
    EXPECT_LE(sample[3].size(), 30u);
    std::map<int32_t, Ids> parts;
    for (size_t i = 0; i < sample[0].size(); ++i) {
      Ids& part = parts[sample[2][i]];
      EXPECT_EQ(sample[1][i], static_cast<int32_t>(part.size())) << "positions begin anew";
      part.push_back(sample[0][i]);
    }
    std::map<int32_t, Ids> fed, labels;
    for (size_t i = 0; i < sample[3].size(); ++i) {
      fed[sample[5][i]].push_back(sample[3][i]);
      labels[sample[5][i]].push_back(sample[6][i]);
    }
    ASSERT_EQ(parts.size(), labels.size());
    for (const auto& [segment, part] : parts) {
      sources.insert(part);
      EXPECT_EQ(labels[segment][1], 50 + part[0]) << "the target of another source";
      EXPECT_EQ(labels[segment].back(), kStop);
      EXPECT_EQ(fed[segment][0], kStart);
      EXPECT_TRUE(
          std::equal(fed[segment].begin() + 1, fed[segment].end(), labels[segment].begin()));
    }
  }
  EXPECT_TRUE(sources == wanted);
}

TEST(TwoSided, RowsAreAMultipleThatSequenceParallelismDivides) {
  const TwoSidedConfig config{.source_length = 22, .target_length = 22};
  const auto records = many(64);
  for (const int64_t multiple : {8, 12}) {
    const TwoSidedSamples samples = samples_of(records, config, {.multiple = multiple});
    for (int64_t first = 0; first < 64; first += 4) {
      const Batch batch = samples.batch(first, 4);
      EXPECT_EQ(batch.source.length() % multiple, 0);
      EXPECT_EQ(batch.length() % multiple, 0);
      EXPECT_LE(batch.source.length(), rounded_up(22, multiple));
    }
  }
}

// A data-parallel rank's samples may be runs of a step (SampleRange).
TEST(TwoSided, RunsOfARangeAreTheSamplesOfTheirNumbers) {
  const TwoSidedConfig config{.source_length = 22, .target_length = 22};
  const TwoSidedSamples samples = samples_of(many(64), config, {.group = 8});
  for (const SampleRange& range : {SampleRange{2, 6, 2, 8}, {4, 12, 4, 32}, {40, 6, 3, 9}}) {
    const Batch batch = samples.batch(range);
    ASSERT_EQ(batch.size(), range.count);
    for (int64_t i = 0; i < range.count; ++i)
      EXPECT_EQ(sample_in(batch, i), sample_in(samples.batch(range[i], 1), 0)) << i;
  }
}

TEST(TwoSided, PartsAreBlendedByWeight) {
  const TwoSidedConfig config{.source_length = 40, .target_length = 30};
  std::vector<PairRows> parts;
  parts.emplace_back(records_of({1, 1}, {1, 1}), pair_form(), config);
  parts.emplace_back(records_of({5, 5, 5}, {2, 2, 2}), pair_form(), config);
  const TwoSidedSamples samples(std::move(parts), {3, 1}, pair_form(), config, {.group = 4});
  EXPECT_EQ(samples.samples_per_epoch(), 5);
  int long_ones = 0;
  for (const auto& sample : samples_in(samples, 0, 40, 8)) long_ones += sample[0].size() == 6;
  EXPECT_EQ(long_ones, 10);
}

TEST(TwoSided, GroupsMayBeSetBeforeAnythingIsMade) {
  const auto records = many(40);
  const TwoSidedConfig config{.source_length = 40, .target_length = 30};
  const TwoSidedSamples grouped = samples_of(records, config, {.group = 8, .seed = 3});
  TwoSidedSamples set = samples_of(records, config, {.group = 1, .seed = 3});
  EXPECT_NE(samples_in(set, 0, 40, 8), samples_in(grouped, 0, 40, 8));
  set.sort_by(8);
  EXPECT_EQ(samples_in(set, 0, 40, 8), samples_in(grouped, 0, 40, 8));
}

// Whole groups of either size have the same samples, so a run may go on with another where it
// stands at the end of both.
TEST(TwoSided, GroupsOfAnySizeHaveTheSameSamplesUpToTheirCommonEnd) {
  const auto records = many(48);
  const TwoSidedConfig config{.source_length = 40, .target_length = 30};
  const auto first = [&](int64_t group) {
    std::multiset<Ids> sources;
    const TwoSidedSamples samples = samples_of(records, config, {.group = group, .seed = 3});
    for (const auto& sample : samples_in(samples, 0, 24, 4)) sources.insert(sample[0]);
    return sources;
  };
  EXPECT_EQ(first(4), first(24));
  EXPECT_EQ(first(8), first(12));
}

TEST(TwoSided, LengthsAreThoseOfTheModelWhereNoneAreGiven) {
  const TwoSidedConfig open = settled({}, 512, 64);
  EXPECT_EQ(open.source_length, 128);
  EXPECT_EQ(open.target_length, 64);
  const TwoSidedConfig given = settled({.source_length = 512, .target_length = 7}, 512, 64);
  EXPECT_EQ(given.source_length, 512);
  EXPECT_EQ(given.target_length, 7);
  expect_error(ExitCode::usage,
               {"task.source_length=513", "512 places that the model has for a source"},
               [&] { settled({.source_length = 513}, 512, 64); });
  expect_error(ExitCode::usage,
               {"task.target_length=65", "64 places that the model has for a target"},
               [&] { settled({.target_length = 65}, 512, 64); });
  expect_error(ExitCode::usage, {"task.target_length=-1"},
               [&] { settled({.target_length = -1}, 512, 64); });
}

TEST(TwoSided, RowsAreNoLongerThanTheModelHasPlaces) {
  const TwoSidedConfig config{.source_length = 10, .target_length = 9};
  const TwoSidedOrder order{
      .multiple = 8, .source_places = 10, .target_places = 12, .shuffle = false};
  const Batch batch = samples_of(records_of({9, 9}, {6, 7}), config, order).batch(0, 2);
  EXPECT_EQ(batch.source.length(), 10);
  EXPECT_EQ(batch.length(), 12);
  EXPECT_EQ(samples_of(records_of({3}, {2}), config, order).batch(0, 1).source.length(), 8);
}

TEST(TwoSided, PaddingAloneCountsForNothingOnBothSides) {
  const Batch batch = padded_sides(
      2, {.source_length = 3, .target_length = 4, .source_pad = kFill, .target_pad = kStop});
  EXPECT_EQ(row<int32_t>(batch.source.tokens, 1), (Ids{kFill, kFill, kFill}));
  EXPECT_EQ(row<int32_t>(batch.source.segments, 1), (Ids{-1, -1, -1}));
  EXPECT_EQ(row<int32_t>(batch.tokens, 0), (Ids{kStop, kStop, kStop, kStop}));
  EXPECT_EQ(row<int32_t>(batch.segments, 0), (Ids{-1, -1, -1, -1}));
  EXPECT_EQ(row<float>(batch.weights, 0), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(batch.lengths.data<int32_t>()[0], 0);
  EXPECT_FALSE(batch.places.defined());
}

}  // namespace
}  // namespace skein::data
