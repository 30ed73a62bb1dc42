// Token stores compared with their sums on a thread of their own, and what tells files of data
// apart.
#include "skein/data/stores/store_check.h"

#include "skein/data/stores/data_file.h"

#include "data/data_fixtures.h"
#include "support/damage.h"

namespace skein::data {
namespace {

using namespace test;
using Stores = std::vector<std::shared_ptr<const SummedFile>>;

// 3 million tokens of 4 bytes each: three pieces.
std::string large_store(const Scratch& scratch, const std::string& name) {
  TokenStoreWriter writer(scratch.file(name), 100'000, -1, "{}");
  for (int i = 0; i < 30; ++i) writer.add_document(ascending(0, 100'000), 1);
  writer.finish();
  return scratch.file(name);
}

void flip_byte(const std::string& path, int64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(offset);
  const int byte = file.get();
  file.seekp(offset);
  file.put(static_cast<char>(byte ^ 1));
}

TEST(StoreCheck, EndsWhereAllIsRight) {
  const Scratch scratch;
  const auto store = std::make_shared<TokenStore>(large_store(scratch, "a.h5"));
  StoreCheck check(Stores{store, store});
  check.look();
  EXPECT_NO_THROW(check.finish());
  EXPECT_TRUE(check.wait(std::chrono::milliseconds(0)));
  EXPECT_NO_THROW(check.look());
  StoreCheck nothing(Stores{});
  EXPECT_NO_THROW(nothing.finish());
}

TEST(StoreCheck, NamesTheStoreWithBothSums) {
  const Scratch scratch;
  const std::string path = large_store(scratch, "a.h5");
  const auto good = std::make_shared<TokenStore>(large_store(scratch, "b.h5"));
  flip_byte(path, 11'000'000);  // in the last piece
  const auto store = std::make_shared<TokenStore>(path);
  const std::string right = fmt::format("it should be {:016x}", store->fingerprint());
  StoreCheck check(Stores{good, store});
  for (int again = 0; again < 2; ++again)
    expect_error(ExitCode::failure,
                 {path, "is damaged: the XXH3 sum of its tokens is ", right, "copy it again"},
                 [&] { check.finish(); });
  expect_error(ExitCode::failure, {path, right}, [&] { check.look(); });
}

// Its datasets have sums of ours, its structure has HDF5's; between them lie bytes that mean
// nothing.
TEST(StoreCheck, DamageOfEveryKindIsFound) {
  const Scratch scratch;
  TokenStoreWriter writer(scratch.file("good.h5"), 1000, -1, "{}", true);
  for (int i = 0; i < 20; ++i) {
    writer.append(ascending(i, 100), 1);
    writer.end_sentence();
    writer.add_document(ascending(i, 300), 1);
  }
  writer.finish();
  const auto all = [&](const std::string& path) {
    const TokenStore store(path);
    store.verify_sum();
    std::vector<int32_t> tokens(static_cast<size_t>(store.info().tokens));
    store.read(0, tokens);
    const auto documents = store.documents(), sentences = store.sentences();
    std::vector<uint64_t> starts(documents.begin(), documents.end());
    starts.insert(starts.end(), sentences.begin(), sentences.end());
    return std::pair(tokens, starts);
  };
  const auto good = all(scratch.file("good.h5"));
  int found = 0, tried = 0;
  test::each_damage(test::bytes_of_file(scratch.file("good.h5")), 1700,
                    [&](const std::string& bad, test::DamageKind) {
                      test::write_file(scratch.file("bad.h5"), bad);
                      ++tried;
                      try {
                        EXPECT_EQ(all(scratch.file("bad.h5")), good);
                      } catch (const Error&) {
                        ++found;
                      }
                    });
  EXPECT_GT(found, tried * 3 / 4);
}

TEST(StoreCheck, AFileThatWasCutSinceIsAnError) {
  const Scratch scratch;
  const std::string path = large_store(scratch, "a.h5");
  const auto store = std::make_shared<TokenStore>(path);
  std::filesystem::resize_file(path, 5'000'000);
  StoreCheck check(Stores{store});
  expect_error(ExitCode::failure, {path, "ends at byte 5000000", "was it cut or replaced since?"},
               [&] { check.finish(); });
}

// What was opened, and is learnt from, cannot be read any more.
TEST(StoreCheck, AFileThatAnotherReplacedIsAnError) {
  const Scratch scratch;
  const std::string path = large_store(scratch, "a.h5");
  const TokenStore store(path);
  EXPECT_NO_THROW(store.verify_sum());
  std::filesystem::rename(large_store(scratch, "b.h5"), path);
  expect_error(ExitCode::failure, {path, "another file took its place", "start again"},
               [&] { store.verify_sum(); });
  std::filesystem::remove(path);
  expect_error(ExitCode::failure, {"cannot open " + path + " again", "No such file"},
               [&] { store.verify_sum(); });
}

// A run may have more of them than a process may have open files.
TEST(StoreCheck, StoresHoldNoDescriptors) {
  const auto open_files = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 300, -1, {ascending(1, 40)});
  const auto before = open_files();
  std::vector<TokenStore> stores;
  for (int i = 0; i < 20; ++i) stores.emplace_back(scratch.file("a.h5"));
  for (const TokenStore& store : stores) store.verify_sum();
  EXPECT_EQ(open_files(), before);
}

TEST(StoreCheck, LeavesOffWhenItIsNotWantedAnyMore) {
  const Scratch scratch;
  const auto store = std::make_shared<TokenStore>(large_store(scratch, "a.h5"));
  { const StoreCheck check(Stores(1000, store)); }  // 12 GB
  int pieces = 0;
  store->verify_sum([&] { return ++pieces < 2; });
  EXPECT_EQ(pieces, 2);
}

TEST(DataFile, OfAStoreIsKnownByItsTokens) {
  const Scratch scratch;
  for (const char* name : {"a.h5", "b.h5"})
    write_store(scratch.file(name), 300, -1, {ascending(1, 40)});
  write_store(scratch.file("c.h5"), 300, -1, {ascending(2, 40)});
  std::vector<std::shared_ptr<TokenStore>> stores;
  for (const char* name : {"a.h5", "./b.h5", "c.h5"})
    stores.push_back(std::make_shared<TokenStore>(scratch.file(name)));
  const std::vector<DataFile> files = store_files("data.train", stores);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[1].option, "data.train");
  EXPECT_EQ(files[1].path, scratch.file("b.h5"));
  EXPECT_EQ(files[0].bytes, 80);
  EXPECT_EQ(files[0].store, stores[0]);
  EXPECT_TRUE(files[0].same_content(files[1]));
  EXPECT_FALSE(files[0].same_content(files[2]));
}

TEST(DataFile, OfRecordsIsKnownByItsBytes) {
  const Scratch scratch;
  write_file(scratch.file("a.jsonl"), "abc");
  write_file(scratch.file("b.jsonl"), "");
  const std::vector<DataFile> files = record_files(
      {{"data.train", {scratch.file("a.jsonl"), "-", "/dev/null", scratch.file("none")}},
       {"data.validation", {scratch.file("b.jsonl")}}});
  ASSERT_EQ(files.size(), 2u) << "what cannot be read again has no identity";
  // Of `xxhsum -H3`.
  EXPECT_EQ(files[0].identity(), "3 bytes with sum 78af5f94892f3950");
  EXPECT_EQ(files[1].identity(), "0 bytes with sum 2d06800538d394c2");
  EXPECT_EQ(files[1].option, "data.validation");
}

}  // namespace
}  // namespace skein::data
