#include "skein/data/samples/loader.h"

#include <algorithm>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

template <class T>
std::vector<T> values(const Tensor& tensor) {
  const auto span = tensor.span<T>();
  return {span.begin(), span.end()};
}

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

// 1 2 3 E 4 5 E 6 7 8 9 E with E = 99.
std::string three_documents(const Scratch& scratch) {
  write_store(scratch.file("three.h5"), 100, 99, {{1, 2, 3}, {4, 5}, {6, 7, 8, 9}});
  return scratch.file("three.h5");
}

DataConfig in_order() {
  DataConfig config;
  config.shuffle = false;
  return config;
}

void expect_equal_rows(const Batch& left, int64_t left_row, const Batch& right, int64_t right_row) {
  const auto row = [](const Tensor& tensor, int64_t index) {
    return tensor.rows(index, index + 1);
  };
  EXPECT_EQ(values<int32_t>(row(left.tokens, left_row)),
            values<int32_t>(row(right.tokens, right_row)));
  EXPECT_EQ(values<int32_t>(row(left.targets, left_row)),
            values<int32_t>(row(right.targets, right_row)));
  EXPECT_EQ(values<int32_t>(row(left.positions, left_row)),
            values<int32_t>(row(right.positions, right_row)));
  EXPECT_EQ(values<int32_t>(row(left.segments, left_row)),
            values<int32_t>(row(right.segments, right_row)));
  EXPECT_EQ(values<float>(row(left.weights, left_row)),
            values<float>(row(right.weights, right_row)));
  EXPECT_EQ(values<int64_t>(row(left.sample_ids, left_row)),
            values<int64_t>(row(right.sample_ids, right_row)));
}

TEST(Loader, WindowsLieEndToEndAndShareOneToken) {
  const Scratch scratch;
  const Loader loader({three_documents(scratch)}, 5, 0, in_order());
  EXPECT_EQ(loader.samples_per_epoch(), 2);
  EXPECT_EQ(loader.vocab_size(), 100);
  const Batch batch = loader.batch(0, 3);
  EXPECT_EQ(batch.size(), 3);
  EXPECT_EQ(batch.length(), 5);
  EXPECT_EQ(values<int32_t>(batch.tokens), (Ints{1, 2, 3, 99, 4, 5, 99, 6, 7, 8, 1, 2, 3, 99, 4}));
  EXPECT_EQ(values<int32_t>(batch.targets), (Ints{2, 3, 99, 4, 5, 99, 6, 7, 8, 9, 2, 3, 99, 4, 5}));
  EXPECT_EQ(values<int32_t>(batch.positions), (Ints{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  EXPECT_EQ(values<float>(batch.weights), Floats(15, 1.0f));
  EXPECT_EQ(values<int64_t>(batch.sample_ids), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_FALSE(batch.segments.defined());
}

TEST(Loader, WithoutCrossDocumentAttentionPositionsAndSegmentsFollowDocuments) {
  const Scratch scratch;
  DataConfig config = in_order();
  config.cross_document_attention = false;
  const Batch batch = Loader({three_documents(scratch)}, 5, 0, config).batch(0, 2);
  EXPECT_EQ(values<int32_t>(batch.positions), (Ints{0, 1, 2, 3, 0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(values<int32_t>(batch.segments), (Ints{0, 0, 0, 0, 1, 0, 0, 1, 1, 1}));
  EXPECT_EQ(values<float>(batch.weights), Floats(10, 1.0f));
}

TEST(Loader, AWindowThatBeginsWithADocumentStartsItAfresh) {
  const Scratch scratch;
  DataConfig config = in_order();
  config.cross_document_attention = false;
  config.mask_document_ends = true;
  const Batch batch = Loader({three_documents(scratch)}, 4, 0, config).batch(0, 2);
  EXPECT_EQ(values<int32_t>(batch.tokens), (Ints{1, 2, 3, 99, 4, 5, 99, 6}));
  EXPECT_EQ(values<int32_t>(batch.positions), (Ints{0, 1, 2, 3, 0, 1, 2, 0}));
  EXPECT_EQ(values<int32_t>(batch.segments), (Ints{0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(values<float>(batch.weights), (Floats{1, 1, 1, 0, 1, 1, 0, 1}));
}

TEST(Loader, MaskingDocumentEndsSparesTheFirstTokenOfTheNext) {
  const Scratch scratch;
  DataConfig config = in_order();
  config.mask_document_ends = true;
  const Batch batch = Loader({three_documents(scratch)}, 5, 0, config).batch(0, 2);
  EXPECT_EQ(values<float>(batch.weights), (Floats{1, 1, 1, 0, 1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(values<int32_t>(batch.positions), (Ints{0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  EXPECT_FALSE(batch.segments.defined());
}

TEST(Loader, ResumingAnywhereEqualsAStraightRun) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 100, 99,
              {ascending(0, 30), ascending(30, 17), ascending(5, 40)});
  write_store(scratch.file("b.h5"), 100, 99, {ascending(50, 9), ascending(60, 12)});
  const std::vector<std::string> entries{"0.8:" + scratch.file("a.h5"),
                                         "0.2:" + scratch.file("b.h5")};
  DataConfig config;
  config.cross_document_attention = false;
  config.mask_document_ends = true;
  const Batch straight = Loader(entries, 6, 42, config).batch(0, 60);
  for (const int64_t first : {0, 1, 7, 23, 57}) {
    const Loader resumed(entries, 6, 42, config);
    const Batch batch = resumed.batch(first, 3);
    for (int64_t row = 0; row < 3; ++row) expect_equal_rows(batch, row, straight, first + row);
    expect_equal_rows(resumed.batch(0, 1), 0, straight, 0);
  }
}

TEST(Loader, TheSeedAndShufflingDecideTheOrder) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 256, -1, {ascending(0, 201)});
  const std::vector<std::string> entries{scratch.file("a.h5")};
  const auto order = [&](uint64_t seed, bool shuffle) {
    DataConfig config;
    config.shuffle = shuffle;
    return values<int32_t>(Loader(entries, 4, seed, config).batch(0, 50).tokens);
  };
  EXPECT_EQ(order(1, true), order(1, true));
  EXPECT_NE(order(1, true), order(2, true));
  EXPECT_NE(order(1, true), order(1, false));
  EXPECT_EQ(order(1, false), order(2, false));
  Ints sorted = order(1, true);
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, ascending(0, 200));
}

TEST(Loader, BlendsStoresByWeight) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 100, -1, {ascending(0, 41)});
  write_store(scratch.file("b:1.h5"), 100, -1, {ascending(50, 41)});
  const Loader loader({"3:" + scratch.file("a.h5"), scratch.file("b:1.h5")}, 4, 0, in_order());
  EXPECT_EQ(loader.all_stores().size(), 2U);
  EXPECT_EQ(loader.store(1).path(), scratch.file("b:1.h5"));
  EXPECT_EQ(loader.samples_per_epoch(), 20);
  const Ints tokens = values<int32_t>(loader.batch(0, 8).tokens);
  const Ints firsts{0, 4, 50, 8, 12, 16, 54, 20};
  for (size_t i = 0; i < firsts.size(); ++i) EXPECT_EQ(tokens[i * 4], firsts[i]) << i;
}

TEST(Loader, AStoreOfExactlyOneSampleIsEnough) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 100, -1, {ascending(0, 11)});
  const Loader loader({scratch.file("a.h5")}, 10, 0, {});
  EXPECT_EQ(loader.samples_per_epoch(), 1);
  EXPECT_EQ(values<int32_t>(loader.batch(5, 1).targets), ascending(1, 10));
  expect_error(ExitCode::usage, {scratch.file("a.h5"), "11 tokens", "length 11", "12"},
               [&] { Loader too_long({scratch.file("a.h5")}, 11, 0, {}); });
}

TEST(Loader, RefusesBadEntries) {
  const Scratch scratch;
  const std::string path = three_documents(scratch);
  const auto load = [](const std::vector<std::string>& entries) {
    Loader loader(entries, 4, 0, {});
  };
  expect_error(ExitCode::usage, {"data.train"}, [&] { load({}); });
  expect_error(ExitCode::usage, {"weight -1", "above 0"}, [&] { load({"-1:" + path}); });
  expect_error(ExitCode::usage, {"weight 0"}, [&] { load({"0:" + path}); });
  expect_error(ExitCode::usage, {"weight nan"}, [&] { load({"nan:" + path}); });
  expect_error(ExitCode::usage, {"weight 1e999"}, [&] { load({"1e999:" + path}); });
  expect_error(ExitCode::usage, {"names no path"}, [&] { load({"2:"}); });
  expect_error(ExitCode::usage, {"names no path"}, [&] { load({""}); });
  expect_error(ExitCode::usage, {"absent.h5"}, [&] { load({path, scratch.file("absent.h5")}); });
  expect_error(ExitCode::usage, {"length 0"}, [&] { Loader loader({path}, 0, 0, {}); });
}

TEST(Loader, RefusesStoresOfDifferentTokenizers) {
  const Scratch scratch;
  const Documents documents{ascending(0, 20)};
  write_store(scratch.file("a.h5"), 100, 99, documents, "A");
  write_store(scratch.file("sized.h5"), 101, 99, documents, "A");
  write_store(scratch.file("ended.h5"), 100, 98, documents, "A");
  write_store(scratch.file("other.h5"), 100, 99, documents, "B");
  const auto blend = [&](const std::string& name) {
    Loader({scratch.file("a.h5"), scratch.file(name)}, 4, 0, {});
  };
  expect_error(ExitCode::usage, {"a.h5", "sized.h5", "100", "101", "different tokenizers"},
               [&] { blend("sized.h5"); });
  expect_error(ExitCode::usage, {"a.h5", "ended.h5", "99", "98"}, [&] { blend("ended.h5"); });
  expect_error(ExitCode::usage, {"a.h5", "other.h5", "different tokenizers"},
               [&] { blend("other.h5"); });
}

TEST(Prefetcher, GivesWhatTheLoaderGives) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 100, 99,
              {ascending(0, 30), ascending(30, 17), ascending(5, 40)});
  DataConfig config;
  config.cross_document_attention = false;
  const Loader loader({scratch.file("a.h5")}, 6, 3, config);
  const SampleRange range{1, 4, 2, 6};
  Prefetcher prefetcher(loader, range);
  const auto expect_taken = [&](int64_t by, int64_t next) {
    const Batch taken = prefetcher.take(by, next);
    for (int64_t row = 0; row < 4; ++row)
      expect_equal_rows(taken, row, loader.batch(by + std::array{1, 2, 7, 8}[row], 1), 0);
  };
  for (int64_t first = 0; first < 200; first += 2) expect_taken(first, first + 2);
  expect_taken(7, 9);  // not what was announced
  expect_taken(9, -1);
  expect_taken(11, 11);  // the same again
  expect_taken(11, 500);
}

TEST(Prefetcher, EndsWithWorkUnderWayOrNoneAsked) {
  const Scratch scratch;
  const Loader loader({three_documents(scratch)}, 5, 0, {});
  for (int i = 0; i < 50; ++i) {
    Prefetcher idle(loader, {0, 1});
    Prefetcher busy(loader, {0, 4});
    busy.take(0, 4);
  }
}

TEST(Prefetcher, ErrorsOfItsThreadSurfaceInTake) {
  const Scratch scratch;
  const std::string path = scratch.file("a.h5");
  write_store(path, 200, -1, {ascending(1, 41)});
  std::string bytes = bytes_of_file(path);
  const size_t at = bytes.find(std::string("\1\2\3\4\5\6\7\10\11\12", 10));
  ASSERT_NE(at, std::string::npos);
  bytes[at + 25] = static_cast<char>(250);
  write_file(path, bytes);
  const Loader loader({path}, 10, 0, in_order());
  Prefetcher prefetcher(loader, {0, 1});
  prefetcher.take(0, 2);
  expect_error(ExitCode::usage, {path, "token 25", "250"}, [&] { prefetcher.take(2, 3); });
  EXPECT_EQ(values<int32_t>(prefetcher.take(1, -1).tokens), ascending(11, 10));
}

}  // namespace
}  // namespace skein::data
