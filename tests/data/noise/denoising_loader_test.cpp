// Samples of noise from stores: what both sides hold, and that a sample is a function of its number
// alone.
#include "skein/data/noise/denoising_loader.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "skein/data/noise/span_noise.h"
#include "skein/data/samples/batch_fields.h"

#include "data/data_fixtures.h"
#include "data/masked_fixtures.h"

namespace skein::data {
namespace {

using test::expect_error;
using test::kCls;
using test::kMask;
using test::kPad;
using test::kSep;
using Ids = std::vector<int32_t>;

constexpr int64_t kNoisedLength = 32;
constexpr int kSentinels = 8;

// A row of a tensor, without what is behind `length`.
Ids row(const Tensor& tensor, int64_t at, int64_t length = -1) {
  const int32_t* const begin = row_of<int32_t>(tensor, at);
  return {begin, begin + (length < 0 ? tensor.dim(1) : length)};
}

// One sample of a batch, without padding.
struct Sides {
  Sides(const Batch& batch, int64_t at) {
    const int32_t left = batch.source.lengths.data<int32_t>()[at];
    const int32_t right = batch.lengths.data<int32_t>()[at];
    source = row(batch.source.tokens, at, left);
    source_segments = row(batch.source.segments, at, left);
    source_positions = row(batch.source.positions, at, left);
    fed = row(batch.tokens, at, right);
    segments = row(batch.segments, at, right);
    positions = row(batch.positions, at, right);
    target = row(batch.targets, at, right);
    const float* const known = row_of<float>(batch.known, at);
    hidden.assign(known, known + right);
    expect_padding(batch.source, at, left);
    expect_padding(batch, at, right);
    for (int64_t t = 0; t < batch.length(); ++t)
      EXPECT_EQ(row_of<float>(batch.weights, at)[t], t < right ? 1 : 0);
    EXPECT_TRUE(std::equal(target.begin(), target.end() - 1, fed.begin() + 1));
  }

  static void expect_padding(const Sequence& side, int64_t at, int64_t length) {
    for (int64_t t = length; t < side.length(); ++t) {
      EXPECT_EQ(row_of<int32_t>(side.tokens, at)[t], kPad);
      EXPECT_EQ(row_of<int32_t>(side.segments, at)[t], -1);
    }
  }

  Ids source, source_segments, source_positions, fed, segments, positions, target;
  std::vector<float> hidden;
};

class Denoising : public testing::Test {
 protected:
  Denoising() { test::write_sentence_store(store_, 60, kSentinels); }

  DenoisingLoader loader(const NoiseConfig& noise, const DataConfig& data = in_order(),
                         const DenoisingRows& rows = {kNoisedLength, 0, 8}) const {
    return {{store_}, rows, 5, data, noise};
  }
  static DataConfig in_order() {
    DataConfig made;
    made.shuffle = false;
    return made;
  }
  // Tokens of text that the longest sample is made of.
  static int64_t text_length(NoiseKind kind) {
    return kind == NoiseKind::text ? kNoisedLength - 2 : 34;
  }
  static NoiseConfig config(NoiseKind kind, NoiseSamples samples = NoiseSamples::windows) {
    NoiseConfig made;
    made.kind = kind;
    made.samples = samples;
    return made;
  }
  // The store's tokens, all of them or but end-of-text.
  Ids text(bool ends) const {
    Ids made = test::all_tokens(TokenStore(store_));
    if (!ends) std::erase(made, kSep);
    return made;
  }

  test::Scratch scratch_;
  std::string store_ = scratch_.file("train.h5");
};

TEST_F(Denoising, WindowsOfTextAreAllOfTheStore) {
  const DenoisingLoader samples = loader(config(NoiseKind::text));
  const Ids all = text(true);
  EXPECT_EQ(samples.samples_per_epoch(), std::ssize(all) / (kNoisedLength - 2));
  const Batch batch = samples.batch(0, 20);
  EXPECT_FALSE(batch.places.defined());
  int64_t masks = 0, hidden = 0;
  for (int64_t i = 0; i < 20; ++i) {
    const Sides sides(batch, i);
    Ids wanted{kCls};
    wanted.insert(wanted.end(), all.begin() + i * (kNoisedLength - 2),
                  all.begin() + (i + 1) * (kNoisedLength - 2));
    wanted.push_back(kSep);
    EXPECT_EQ(sides.target, wanted);
    EXPECT_EQ(sides.fed.front(), kSep) << "starts with the end, as BART";
    EXPECT_EQ(sides.source.front(), kCls);
    EXPECT_EQ(sides.source.back(), kSep);
    EXPECT_EQ(std::ranges::count(sides.source, kSep), std::ranges::count(sides.target, kSep));
    Ids shown = sides.source, seen;
    masks += std::ranges::count(shown, kMask);
    std::erase(shown, kMask);
    for (size_t t = 0; t < sides.target.size(); ++t)
      if (sides.hidden[t] == 0)
        seen.push_back(sides.target[t]);
      else
        ++hidden;
    std::ranges::sort(shown);
    std::ranges::sort(seen);
    EXPECT_EQ(shown, seen) << "what is not hidden is what the source shows";
    EXPECT_EQ(batch.sample_ids.data<int64_t>()[i], i);
    EXPECT_EQ(sides.segments, Ids(sides.target.size(), 0));
    EXPECT_EQ(sides.positions, test::ascending(0, kNoisedLength));
    EXPECT_EQ(sides.source_positions,
              test::ascending(0, static_cast<int32_t>(sides.source.size())));
  }
  EXPECT_GT(masks, 20);
  EXPECT_GT(hidden, masks);
}

TEST_F(Denoising, DocumentsAreKeptApartOnBothSides) {
  DataConfig data = in_order();
  data.cross_document_attention = false;
  NoiseConfig noise = config(NoiseKind::text);
  noise.rotate = 1;
  const Batch batch = loader(noise, data).batch(0, 40);
  int64_t ends = 0;
  for (int64_t i = 0; i < 40; ++i) {
    const Sides sides(batch, i);
    const auto expect_marks = [&](const Ids& ids, const Ids& segments, const Ids& positions) {
      for (size_t t = 1; t < ids.size(); ++t) {
        const bool begins = ids[t - 1] == kSep && t + 1 < ids.size();
        EXPECT_EQ(segments[t], segments[t - 1] + begins);
        EXPECT_EQ(positions[t], begins ? 0 : positions[t - 1] + 1);
        ends += begins;
      }
    };
    expect_marks(sides.source, sides.source_segments, sides.source_positions);
    expect_marks(sides.target, sides.segments, sides.positions);
    EXPECT_EQ(sides.source_segments.back(), sides.segments.back());
  }
  EXPECT_GT(ends, 10);
}

// The documents' text in pieces: where a document is longer than `most`, it is cut behind the last
// sentence that ends in time.
std::vector<Ids> pieces_of(const TokenStore& store, int64_t most) {
  std::vector<Ids> made;
  const Ids all = test::all_tokens(store);
  for (int64_t d = 0; d < store.info().documents; ++d) {
    auto begin = static_cast<int64_t>(store.documents()[d]);
    const auto end = static_cast<int64_t>(store.documents()[d + 1]) - 1;
    while (begin < end) {
      int64_t stop = end;
      if (end - begin > most)
        for (const uint64_t sentence : store.sentences())
          if (static_cast<int64_t>(sentence) <= begin + most) stop = static_cast<int64_t>(sentence);
      made.emplace_back(all.begin() + begin, all.begin() + stop);
      begin = stop;
    }
  }
  return made;
}

TEST_F(Denoising, DocumentsAreCutAtSentences) {
  for (const NoiseKind kind : {NoiseKind::text, NoiseKind::spans}) {
    const DenoisingLoader samples = loader(config(kind, NoiseSamples::documents));
    const auto pieces = pieces_of(TokenStore(store_), text_length(kind));
    ASSERT_EQ(samples.samples_per_epoch(), std::ssize(pieces));
    EXPECT_GT(pieces.size(), 60u) << "some were cut";
    const Batch batch = samples.batch(0, std::ssize(pieces));
    for (int64_t i = 0; i < std::ssize(pieces); ++i) {
      const Sides sides(batch, i);
      Ids found = sides.target, wanted = pieces[static_cast<size_t>(i)];
      if (kind == NoiseKind::text) {
        wanted.insert(wanted.begin(), kCls);
        wanted.push_back(kSep);
      } else {
        found.insert(found.end(), sides.source.begin(), sides.source.end());
        std::erase_if(found, [](int32_t id) { return id == kSep || id >= 64; });
        std::ranges::sort(found);
        std::ranges::sort(wanted);
      }
      EXPECT_EQ(found, wanted) << i;
    }
  }
}

TEST_F(Denoising, WindowsOfSpansFillTheSourceWithTextAlone) {
  const DenoisingLoader samples = loader(config(NoiseKind::spans));
  const Ids all = text(false);
  const int64_t length = text_length(NoiseKind::spans);
  EXPECT_EQ(samples.target_length(), 8);
  EXPECT_EQ(samples.samples_per_epoch(), std::ssize(all) / length);
  const Batch batch = samples.batch(0, samples.samples_per_epoch());
  for (int64_t i = 0; i < batch.size(); ++i) {
    const Sides sides(batch, i);
    ASSERT_EQ(std::ssize(sides.source), kNoisedLength);
    EXPECT_EQ(sides.fed.front(), kPad) << "starts with padding, as T5";
    Ids undone;
    for (const int32_t id : sides.source) {
      if (id < 64 && id != kSep) undone.push_back(id);
      if (id < 64) continue;
      for (auto at = std::ranges::find(sides.target, id) + 1; *at < 64 && *at != kSep; ++at)
        undone.push_back(*at);
    }
    EXPECT_EQ(undone, Ids(all.begin() + i * length, all.begin() + (i + 1) * length));
    for (size_t t = 0; t < sides.target.size(); ++t)
      EXPECT_EQ(sides.hidden[t] == 1, sides.target[t] < 64 && sides.target[t] != kSep);
  }
}

TEST_F(Denoising, SpansReadDocumentsThatBeginWithTheirEnd) {
  const std::string path = scratch_.file("begins.h5");
  TokenStoreWriter writer(path, 64 + kSentinels, kSep, test::small_wordpiece(kSentinels));
  for (int32_t d = 0; d < 30; ++d) {
    Ids ids{kSep};
    for (int32_t i = 0; i < 1 + d % 9; ++i) ids.push_back(5 + (d + i) % 40);
    writer.append(ids, 1);
    writer.end_document();
  }
  writer.finish();
  Ids all = test::all_tokens(TokenStore(path));
  std::erase(all, kSep);
  const DenoisingLoader samples({path}, {16, 0, 1}, 1, in_order(), config(NoiseKind::spans));
  const int64_t length = longest_spans(16, config(NoiseKind::spans)).tokens;
  ASSERT_EQ(samples.samples_per_epoch(), std::ssize(all) / length);
  for (int64_t i = 0; i < samples.samples_per_epoch(); ++i) {
    const Sides sides(samples.batch(i, 1), 0);
    Ids found = sides.source, wanted(all.begin() + i * length, all.begin() + (i + 1) * length);
    found.insert(found.end(), sides.target.begin(), sides.target.end());
    std::erase_if(found, [](int32_t id) { return id == kSep || id >= 64; });
    std::ranges::sort(found);
    std::ranges::sort(wanted);
    EXPECT_EQ(found, wanted) << i;
  }
}

void expect_equal_samples(const Batch& one, int64_t at, const Batch& other, int64_t there) {
  for_each_field(
      [&](const FieldKind& kind, const Tensor& left, const Tensor& right) {
        ASSERT_EQ(left.defined(), right.defined());
        if (!left.defined() || kind.first != FieldDim::sample) return;
        const Tensor l = left.rows(at, at + 1), r = right.rows(there, there + 1);
        ASSERT_EQ(l.bytes(), r.bytes());
        EXPECT_TRUE(std::equal(l.bytes_data(), l.bytes_data() + l.bytes(), r.bytes_data()));
      },
      one, other);
}

TEST_F(Denoising, SamplesAreFunctionsOfTheirNumbers) {
  const std::string other = scratch_.file("other.h5");
  test::write_sentence_store(other, 20, kSentinels);
  for (const NoiseKind kind : {NoiseKind::text, NoiseKind::spans})
    for (const NoiseSamples form : {NoiseSamples::windows, NoiseSamples::documents}) {
      NoiseConfig noise = config(kind, form);
      noise.mask = noise.remove = 0.1;
      noise.rotate = 0.5;
      const std::vector<std::string> stores{"0.7:" + store_, "0.3:" + other};
      const DenoisingLoader samples(stores, {kNoisedLength, 0, 8}, 5, {}, noise);
      const DenoisingLoader resumed(stores, {kNoisedLength, 0, 8}, 5, {}, noise);
      const int64_t first = samples.samples_per_epoch() - 6;  // into the next epoch
      const Batch whole = samples.batch(first, 12);
      for (int64_t i = 11; i >= 0; --i)
        expect_equal_samples(resumed.batch(first + i, 1), 0, whole, i);
      expect_equal_samples(samples.batch(first + 3, 5), 2, whole, 5);
    }
}

TEST_F(Denoising, NoiseIsOtherInEachEpochUnlessStatic) {
  for (const NoiseKind kind : {NoiseKind::text, NoiseKind::spans})
    for (const bool fixed : {false, true}) {
      NoiseConfig noise = config(kind);
      noise.fixed = fixed;
      const DenoisingLoader samples = loader(noise);
      const int64_t epoch = samples.samples_per_epoch();
      int64_t same = 0;
      for (int64_t i = 0; i < 10; ++i)
        same +=
            Sides(samples.batch(i, 1), 0).source == Sides(samples.batch(epoch + i, 1), 0).source;
      EXPECT_EQ(same, fixed ? 10 : 0);
    }
}

TEST_F(Denoising, RowsAreTrimmedToTheLongestAndStayDivisible) {
  NoiseConfig noise = config(NoiseKind::text, NoiseSamples::documents);
  noise.length = 30;
  const DenoisingLoader samples = loader(noise, in_order(), {64, 64, 8});
  const Batch batch = samples.batch(0, 40);
  EXPECT_EQ(batch.length(), 32);
  EXPECT_EQ(batch.source.length(), 32);
  std::set<int64_t> lengths;
  for (int64_t i = 0; i < 40; ++i) {
    const Batch one = trimmed(batch_rows(batch, i, i + 1), 8);
    EXPECT_EQ(one.length() % 8, 0);
    EXPECT_EQ(one.source.length() % 8, 0);
    EXPECT_EQ(one.targets.shape(), one.tokens.shape());
    EXPECT_EQ(one.weights.shape(), one.tokens.shape());
    EXPECT_EQ(Sides(one, 0).target, Sides(batch, i).target);
    EXPECT_EQ(Sides(one, 0).hidden, Sides(batch, i).hidden);
    lengths.insert(one.length());
  }
  EXPECT_GT(lengths.size(), 1u);
  EXPECT_EQ(loader(noise, in_order(), {30, 30, 8}).batch(0, 1).length(), 30)
      << "no more than the model has positions";
}

TEST_F(Denoising, RefuseLengthsThatCannotBe) {
  NoiseConfig noise = config(NoiseKind::text);
  expect_error(ExitCode::usage, {"noise.length is 0", "noise.length=512"},
               [&] { loader(noise, in_order(), {}); });
  noise.length = 40;
  expect_error(ExitCode::usage, {"noise.length=40", "32 positions", "source"},
               [&] { loader(noise); });
  expect_error(ExitCode::usage, {"noise.kind=text", "40 tokens", "have 40", "39 positions"}, [&] {
    loader(noise, in_order(), {64, 39, 1});
  });
  noise.kind = NoiseKind::spans;
  expect_error(ExitCode::usage, {"noise.kind=spans", "40 tokens", "have 10", "8 positions"}, [&] {
    loader(noise, in_order(), {64, 8, 1});
  });
  noise.length = 7;
  expect_error(ExitCode::usage, {"noise.length is 7", "at least 8"}, [&] { loader(noise); });
  noise.length = 3000;
  noise.span = 100;
  expect_error(ExitCode::usage, {"train.h5", "one sample takes 35"},
               [&] { loader(noise, in_order(), {}); });
}

TEST_F(Denoising, RefuseStoresThatCannotBe) {
  const std::string plain = scratch_.file("plain.h5");
  Ids ids(300, 10);
  test::write_store(plain, 64, kSep, {ids}, test::small_wordpiece());
  const auto open = [&](const NoiseConfig& noise, const DataConfig& data = {}) {
    DenoisingLoader({plain}, {kNoisedLength, 0, 8}, 1, data, noise);
  };
  expect_error(ExitCode::usage, {"plain.h5", "sentences", "noise.permute=0"},
               [&] { open(config(NoiseKind::text)); });
  expect_error(ExitCode::usage, {"plain.h5", "has 2 spans", "has 0", "<extra_id_0>"},
               [&] { open(config(NoiseKind::spans)); });
  DataConfig apart;
  apart.cross_document_attention = false;
  expect_error(ExitCode::usage, {"data.cross_document_attention=false", "noise.samples=documents"},
               [&] { open(config(NoiseKind::spans), apart); });
  NoiseConfig wrong = config(NoiseKind::text);
  wrong.mask = 2;
  expect_error(ExitCode::usage, {"noise.mask is 2"}, [&] { open(wrong); });
  const std::string unnamed = scratch_.file("bytes.h5");
  test::write_store(unnamed, 257, 256, {test::ascending(0, 200)}, "");
  expect_error(ExitCode::usage, {"bytes.h5", "no tokenizer", "noise"}, [&] {
    DenoisingLoader({unnamed}, {kNoisedLength, 0, 8}, 1, {}, config(NoiseKind::text));
  });
}

TEST_F(Denoising, RefuseTokensThatMeanSomethingElse) {
  const std::string path = scratch_.file("strange.h5");
  Ids ids(300, 10);
  ids[50] = 64 + kSentinels - 1;
  test::write_store(path, 64 + kSentinels, kSep, {ids}, test::small_wordpiece(kSentinels));
  const DenoisingLoader samples({path}, {kNoisedLength, 0, 8}, 1, in_order(),
                                config(NoiseKind::spans));
  samples.batch(0, 1);
  expect_error(ExitCode::usage, {"strange.h5", "id 71", "[34, 68)"}, [&] { samples.batch(1, 1); });
}

}  // namespace
}  // namespace skein::data
