#include "skein/data/stores/store.h"

#include <algorithm>
#include <sys/stat.h>
#include <thread>

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

// A store's bytes with the ids 1, 2, ... 40 in it, easy to find.
std::string plain_store(const Scratch& scratch) {
  write_store(scratch.file("plain.h5"), 200, -1, {ascending(1, 40)});
  return bytes_of_file(scratch.file("plain.h5"));
}

size_t tokens_in(const std::string& file) {
  std::string ids;
  for (char id = 1; id <= 40; ++id) ids.push_back(id);
  const size_t at = file.find(ids);
  EXPECT_NE(at, std::string::npos);
  return at;
}

void expect_refused(const Scratch& scratch, const std::string& bytes,
                    std::initializer_list<std::string> words) {
  const std::string path = scratch.file("damaged.h5");
  write_file(path, bytes);
  expect_error(ExitCode::usage, words, [&] { TokenStore store(path); });
  expect_error(ExitCode::usage, {path}, [&] { TokenStore store(path); });
}

class Widths : public testing::TestWithParam<int64_t> {};

TEST_P(Widths, RoundTrip) {
  const int64_t vocab_size = GetParam();
  const auto last = static_cast<int32_t>(vocab_size - 1);
  const Scratch scratch;
  const Documents documents{{0, 1, 2}, {}, {last - 1, 7}};
  const StoreInfo made =
      write_store(scratch.file("a.h5"), vocab_size, last, documents, "{\"v\":1}");
  const TokenStore store(scratch.file("a.h5"), true);
  const std::vector<int32_t> expected{0, 1, 2, last, last, last - 1, 7, last};
  EXPECT_EQ(all_tokens(store), expected);
  EXPECT_EQ(std::vector<uint64_t>(store.documents().begin(), store.documents().end()),
            (std::vector<uint64_t>{0, 4, 5, 8}));
  EXPECT_EQ(store.info().tokens, 8);
  EXPECT_EQ(store.info().documents, 3);
  EXPECT_EQ(store.info().vocab_size, vocab_size);
  EXPECT_EQ(store.info().end_of_text, last);
  EXPECT_EQ(store.info().text_bytes, 5);
  EXPECT_EQ(store.info().tokenizer.text(), "{\"v\":1}");
  EXPECT_EQ(store.path(), scratch.file("a.h5"));
  EXPECT_EQ(made.tokens, 8);
  EXPECT_EQ(made.documents, 3);
}

INSTANTIATE_TEST_SUITE_P(TokenStore, Widths, testing::Values(256, 257, 65536, 65537, 200000));

TEST(TokenStore, ReadsAnyRangeAndKnowsItsDocument) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 300, 299, {ascending(0, 5), ascending(100, 3)});
  const TokenStore store(scratch.file("a.h5"));
  std::vector<int32_t> part(4);
  store.read(3, part);
  EXPECT_EQ(part, (std::vector<int32_t>{3, 4, 299, 100}));
  store.read(10, std::span<int32_t>());
  const std::vector<int64_t> documents{0, 0, 0, 0, 0, 0, 1, 1, 1, 1};
  for (size_t i = 0; i < documents.size(); ++i)
    EXPECT_EQ(store.document_at(static_cast<int64_t>(i)), documents[i]);
  expect_error(ExitCode::internal, {}, [&] { store.read(7, part); });
  expect_error(ExitCode::internal, {}, [&] { store.read(-1, part); });
  expect_error(ExitCode::internal, {}, [&] { store.document_at(10); });
}

TEST(TokenStore, HoldsMoreThanOneWriteAndALongTokenizer) {
  const Scratch scratch;
  const std::string tokenizer = "{\"merges\":\"" + std::string(300000, 'm') + "\"}";
  std::vector<int32_t> tokens(1500000);
  for (size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<int32_t>(i * 2654435761u % 50000u);
  write_store(scratch.file("a.h5"), 50257, -1, {tokens}, tokenizer);
  const TokenStore store(scratch.file("a.h5"), true);
  EXPECT_TRUE(all_tokens(store) == tokens);
  EXPECT_TRUE(store.info().tokenizer.text() == tokenizer);
}

TEST(TokenStore, SurvivesBeingMovedAndReadFromManyThreads) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 256, -1, {ascending(0, 200)});
  std::vector<std::jthread> threads;
  std::vector<int64_t> sums(4, 0);
  for (size_t t = 0; t < sums.size(); ++t)
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        TokenStore opened(scratch.file("a.h5"));
        const TokenStore store(std::move(opened));
        for (const int32_t id : all_tokens(store)) sums[t] += id;
      }
    });
  threads.clear();
  for (const int64_t sum : sums) EXPECT_EQ(sum, 20 * 199 * 200 / 2);
}

TEST(TokenStore, MissingFileIsNamedWithACureAndACause) {
  const Scratch scratch;
  const std::string path = scratch.file("absent.h5");
  expect_error(ExitCode::usage, {path, "No such file", "skein-data encode"},
               [&] { TokenStore store(path); });
  expect_error(ExitCode::usage, {"directory"}, [&] { TokenStore store(scratch.file("")); });
}

// Whoever may write to the folder could plant it.
TEST(TokenStore, IsNotWrittenThroughALink) {
  const Scratch scratch;
  write_file(scratch.file("other"), "precious");
  TokenStoreWriter writer(scratch.file("a.h5"), 10, -1, "{}");
  writer.add_document(std::vector<int32_t>{1, 2, 3}, 3);
  std::string stem;
  for (const auto& entry : std::filesystem::directory_iterator(scratch.file("")))
    if (entry.path().extension() == ".tokens")
      stem = entry.path().parent_path() / entry.path().stem();
  ASSERT_FALSE(stem.empty());
  std::filesystem::create_symlink(scratch.file("other"), stem);
  expect_error(ExitCode::failure, {stem, "File exists"}, [&] { writer.finish(); });
  EXPECT_EQ(bytes_of_file(scratch.file("other")), "precious");
  EXPECT_TRUE(std::filesystem::is_symlink(stem));
  EXPECT_FALSE(std::filesystem::exists(scratch.file("a.h5")));
}

TEST(TokenStore, IsNoPipeAndNoDeviceAndWaitsForNone) {
  const Scratch scratch;
  for (const std::string name : {"pipe.h5", "pipe.bin"}) {
    ASSERT_EQ(mkfifo(scratch.file(name).c_str(), 0600), 0);
    expect_error(ExitCode::usage, {name, "not a regular file"},
                 [&] { TokenStore store(scratch.file(name)); });
  }
  expect_error(ExitCode::usage, {"/dev/zero", "not a regular file"},
               [&] { TokenStore store("/dev/zero"); });
}

TEST(TokenStore, OtherFilesAreToldByTheirLooks) {
  const Scratch scratch;
  expect_refused(scratch, "", {"empty", "0 bytes"});
  expect_refused(scratch, "Once upon a time\nthere was a text.\n", {"not an HDF5 file", "text"});
  expect_refused(scratch, std::string("\x1f\x8b\x08\x00", 4), {"gzip"});
  expect_refused(scratch, std::string("\x28\xb5\x2f\xfd", 4), {"zstd"});
  expect_refused(scratch, std::string("\x40\0\0\0\0\0\0\0{\"a\":1}", 15), {"safetensors"});
  expect_refused(scratch, std::string("MMIDIDX\0\0\1\0", 11), {"Megatron"});
  expect_refused(scratch, std::string("\1\2\3\4\5\6\7\1\2\3", 10), {"binary data"});
}

TEST(TokenStore, EveryTruncationIsRefused) {
  const Scratch scratch;
  const std::string whole = plain_store(scratch);
  for (size_t bytes = 0; bytes < whole.size(); bytes += bytes < 100 ? 1 : 37)
    expect_refused(scratch, whole.substr(0, bytes), {});
  expect_refused(scratch, whole.substr(0, whole.size() - 1),
                 {"truncated", std::to_string(whole.size()), std::to_string(whole.size() - 1)});
  expect_refused(scratch, whole.substr(0, 20), {"truncated", "20", "48"});
}

TEST(TokenStore, FlippedSignatureIsRefused) {
  const Scratch scratch;
  const std::string whole = plain_store(scratch);
  for (size_t i = 0; i < 8; ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    expect_refused(scratch, damaged, {"not an HDF5 file"});
  }
}

TEST(TokenStore, NoFlippedByteChangesAVerifiedStore) {
  const Scratch scratch;
  const std::string path = scratch.file("damaged.h5");
  write_store(scratch.file("good.h5"), 200, 199, {ascending(1, 9), ascending(20, 30), {5}});
  const std::string whole = bytes_of_file(scratch.file("good.h5"));
  const TokenStore good(scratch.file("good.h5"));
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << i % 8));
    write_file(path, damaged);
    try {
      const TokenStore store(path, true);
      EXPECT_EQ(all_tokens(store), all_tokens(good)) << "byte " << i;
      EXPECT_EQ(store.info().tokenizer, good.info().tokenizer) << "byte " << i;
      EXPECT_TRUE(std::equal(store.documents().begin(), store.documents().end(),
                             good.documents().begin(), good.documents().end()))
          << "byte " << i;
    } catch (const Error& error) {
      const bool of_tokens = std::string(error.what()).find("XXH3 sum") != std::string::npos;
      const ExitCode code = of_tokens ? ExitCode::failure : ExitCode::usage;
      EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    }
  }
}

TEST(TokenStore, TokenOutsideTheVocabularyIsNamedWhenItIsRead) {
  const Scratch scratch;
  std::string damaged = plain_store(scratch);
  damaged[tokens_in(damaged) + 17] = static_cast<char>(250);
  const std::string path = scratch.file("damaged.h5");
  write_file(path, damaged);
  const TokenStore store(path);
  std::vector<int32_t> out(10);
  store.read(0, out);
  expect_error(ExitCode::usage, {path, "token 17", "250", "200"}, [&] { store.read(10, out); });
  expect_error(ExitCode::failure, {path, "sum"}, [&] { TokenStore verified(path, true); });
}

TEST(TokenStore, DocumentsMustAscendToTheNumberOfTokens) {
  const Scratch scratch;
  write_store(scratch.file("good.h5"), 100000, -1,
              {ascending(0, 1000), ascending(0, 234), ascending(0, 77)});
  const std::string whole = bytes_of_file(scratch.file("good.h5"));
  const uint64_t starts[] = {0, 1000, 1234, 1311};
  const size_t at = whole.find(std::string(reinterpret_cast<const char*>(starts), sizeof starts));
  ASSERT_NE(at, std::string::npos);
  const auto with = [&](size_t entry, uint64_t value) {
    std::string damaged = whole;
    damaged.replace(at + entry * 8, 8, reinterpret_cast<const char*>(&value), 8);
    return damaged;
  };
  expect_refused(scratch, with(0, 1), {"begins with 1"});
  expect_refused(scratch, with(2, 1000), {"ascend", "entry 1", "1000"});
  expect_refused(scratch, with(1, 1300), {"ascend", "1300", "1234"});
  expect_refused(scratch, with(3, 1400), {"1400", "1311"});
}

std::vector<uint64_t> starts_of(std::span<const uint64_t> starts) {
  return {starts.begin(), starts.end()};
}

// Documents 0 1 | 2 E, E, 3 E, and 4 5 | 6 E.
std::string store_with_sentences(const Scratch& scratch, int64_t end_of_text) {
  TokenStoreWriter writer(scratch.file("sentences.h5"), 100, end_of_text, "{}", true);
  writer.append(ascending(0, 1), 1);
  writer.append(ascending(1, 1), 1);
  writer.end_sentence();
  writer.end_sentence();
  writer.append(ascending(2, 1), 1);
  writer.end_sentence();
  writer.add_document({}, 0);
  writer.add_document({}, 0);
  writer.add_document(ascending(3, 1), 1);
  writer.append(ascending(4, 2), 1);
  writer.end_sentence();
  writer.add_document(ascending(6, 1), 1);
  writer.finish();
  return scratch.file("sentences.h5");
}

TEST(TokenStore, KnowsItsSentences) {
  const Scratch scratch;
  const std::string path = store_with_sentences(scratch, 99);
  const TokenStore store(path, true);
  EXPECT_EQ(all_tokens(store), (std::vector<int32_t>{0, 1, 2, 99, 99, 3, 99, 4, 5, 6, 99}));
  EXPECT_EQ(starts_of(store.documents()), (std::vector<uint64_t>{0, 4, 5, 7, 11}));
  EXPECT_EQ(starts_of(store.sentences()), (std::vector<uint64_t>{0, 2, 4, 5, 7, 9, 11}));
  EXPECT_EQ(store.info().sentences, 6);
  const TokenStore bare(store_with_sentences(scratch, -1), true);
  EXPECT_EQ(starts_of(bare.documents()), (std::vector<uint64_t>{0, 3, 4, 7}));
  EXPECT_EQ(starts_of(bare.sentences()), (std::vector<uint64_t>{0, 2, 3, 4, 6, 7}));
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(TokenStore, HasNoSentencesUnlessTheyWereWanted) {
  const Scratch scratch;
  write_store(scratch.file("a.h5"), 10, 9, {{1, 2}, {3}});
  const TokenStore store(scratch.file("a.h5"), true);
  EXPECT_TRUE(store.sentences().empty());
  EXPECT_EQ(store.info().sentences, 0);
  TokenStoreWriter writer(scratch.file("b.h5"), 10, 9, "{}");
  expect_error(ExitCode::internal, {}, [&] { writer.end_sentence(); });
}

TEST(TokenStore, DamagedSentencesAreRefusedWhenAskedFor) {
  const Scratch scratch;
  const std::string path = store_with_sentences(scratch, 99), whole = bytes_of_file(path);
  const uint64_t starts[] = {0, 2, 4, 5, 7, 9, 11};
  const size_t at = whole.find(std::string(reinterpret_cast<const char*>(starts), sizeof starts));
  ASSERT_NE(at, std::string::npos);
  const auto expect_damage = [&](size_t entry, uint64_t value,
                                 std::initializer_list<std::string> words) {
    std::string damaged = whole;
    damaged.replace(at + entry * 8, 8, reinterpret_cast<const char*>(&value), 8);
    write_file(path, damaged);
    const TokenStore store(path);
    expect_error(ExitCode::usage, words, [&] { store.sentences(); });
    expect_error(ExitCode::usage, {path}, [&] { store.sentences(); });
    expect_error(ExitCode::usage, words, [&] { TokenStore verified(path, true); });
  };
  expect_damage(0, 1, {"/sentences begins with 1"});
  expect_damage(1, 4, {"/sentences", "ascend", "entry 1", "4 is followed by 4"});
  expect_damage(6, 12, {"/sentences ends with 12", "11 tokens"});
  expect_damage(2, 3, {"token 4", "inside of a sentence"});
}

TEST(TokenStoreWriter, LeavesNothingBehindUnlessFinished) {
  const Scratch scratch;
  {
    TokenStoreWriter writer(scratch.file("a.h5"), 10, -1, "{}");
    writer.add_document(ascending(0, 5), 5);
  }
  EXPECT_EQ(scratch.entries(), 0);
  write_store(scratch.file("a.h5"), 10, -1, {ascending(0, 5)});
  EXPECT_EQ(scratch.entries(), 1);
}

TEST(TokenStoreWriter, TwoAtOnceDoNotMeet) {
  const Scratch scratch;
  TokenStoreWriter left(scratch.file("a.h5"), 10, -1, "{}"),
      right(scratch.file("a.h5"), 10, -1, "{}");
  left.add_document(ascending(0, 5), 5);
  right.add_document(ascending(5, 5), 5);
  left.finish();
  EXPECT_EQ(all_tokens(TokenStore(scratch.file("a.h5"), true)), ascending(0, 5));
  right.finish();
  EXPECT_EQ(all_tokens(TokenStore(scratch.file("a.h5"), true)), ascending(5, 5));
}

// A link to itself is an error of storage (ELOOP), whoever looks.
TEST(TokenStore, StorageThatDoesNotAnswerIsNoMistakeOfTheUser) {
  const Scratch scratch;
  for (const char* name : {"a.h5", "a.bin", "a.idx"}) {
    const std::string path = scratch.file(name);
    std::filesystem::create_symlink(name, path);
    expect_error(ExitCode::failure, {path, "Too many levels of symbolic links"},
                 [&] { TokenStore store(path); });
    std::filesystem::remove(path);
    expect_error(ExitCode::usage, {"No such file"}, [&] { TokenStore store(path); });
  }
}

TEST(TokenStoreWriter, RefusesWhatCannotBeRead) {
  const Scratch scratch;
  const std::string path = scratch.file("a.h5");
  expect_error(ExitCode::usage, {path, "0 ids"},
               [&] { TokenStoreWriter writer(path, 0, -1, "{}"); });
  expect_error(ExitCode::usage, {path, "end_of_text is 10"},
               [&] { TokenStoreWriter writer(path, 10, 10, "{}"); });
  expect_error(ExitCode::usage, {path, "no token"}, [&] { write_store(path, 10, -1, {{}, {}}); });
  expect_error(ExitCode::usage, {path, "token 2", "document 1", "10"}, [&] {
    write_store(path, 10, -1, {{1}, {1, 2, 10}});
  });
  expect_error(ExitCode::usage, {path, "-3"}, [&] { write_store(path, 10, -1, {{-3}}); });
  EXPECT_EQ(scratch.entries(), 0);
}

TEST(TokenStoreWriter, FailuresOfTheDiskNameThePathAndTheCause) {
  const Scratch scratch;
  const std::string nowhere = scratch.file("absent/a.h5");
  expect_error(ExitCode::failure, {nowhere, "No such file"},
               [&] { write_store(nowhere, 10, -1, {{1}}); });
  const std::string directory = scratch.file("directory");
  std::filesystem::create_directory(directory);
  expect_error(ExitCode::usage, {directory, "is a directory"},
               [&] { write_store(directory, 10, -1, {{1}}); });
  EXPECT_EQ(scratch.entries(), 1);
}

}  // namespace
}  // namespace skein::data
