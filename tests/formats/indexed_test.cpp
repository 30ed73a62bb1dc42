#include "skein/formats/indexed.h"

#include <gtest/gtest.h>
#include <initializer_list>
#include <vector>

#include "skein/core/error.h"

namespace skein::formats {
namespace {

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

// An index of u16 tokens; each test spoils one thing.
struct Recipe {
  std::string magic{"MMIDIDX\0\0", 9};
  uint64_t version = 1;
  uint8_t code = 8;
  std::vector<int32_t> lengths{3, 1, 4};
  std::vector<int64_t> offsets{0, 6, 8};
  std::vector<int64_t> entries{0, 2, 3};
  uint64_t sequences = 3, count = 3;
  std::string tail = "";
};

std::string index_of(const Recipe& recipe) {
  std::string bytes = recipe.magic;
  put(bytes, recipe.version);
  put(bytes, recipe.code);
  put(bytes, recipe.sequences);
  put(bytes, recipe.count);
  for (const int32_t length : recipe.lengths) put(bytes, length);
  for (const int64_t offset : recipe.offsets) put(bytes, offset);
  for (const int64_t entry : recipe.entries) put(bytes, entry);
  return bytes + recipe.tail;
}

std::span<const std::byte> bytes_in(const std::string& text) {
  return std::as_bytes(std::span(text));
}

template <class Body>
void expect_usage(std::initializer_list<std::string> words, Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << word << " in: " << error.what();
    return;
  }
  ADD_FAILURE() << "no Error was thrown";
}

void expect_refused(const Recipe& recipe, std::initializer_list<std::string> words,
                    uint64_t bin_bytes = 16) {
  const std::string bytes = index_of(recipe);
  const auto read = [&] { TokenIndex(bytes_in(bytes), "a.idx").check(bin_bytes, "a.bin"); };
  expect_usage(words, read);
  expect_usage({bin_bytes == 16 ? "a.idx" : "a.bin"}, read);
}

TEST(TokenIndex, ReadsWhatItsRecipeSays) {
  const std::string bytes = index_of({});
  const TokenIndex index(bytes_in(bytes), "a.idx");
  index.check(16, "a.bin");
  EXPECT_EQ(index.type(), TokenType::u16);
  EXPECT_EQ(index.sequences(), 3u);
  EXPECT_EQ(index.entries(), 3u);
  EXPECT_EQ(index.length(2), 4);
  EXPECT_EQ(index.offset(2), 8);
  EXPECT_EQ(index.entry(1), 2);
  EXPECT_EQ(bytes.substr(0, kIndexHeaderBytes), index_header(TokenType::u16, 3, 3));
}

TEST(TokenIndex, KnowsEveryTypeAndRefusesFloats) {
  constexpr std::pair<uint8_t, const char*> codes[] = {{1, "u8"},  {2, "i8"},  {3, "i16"},
                                                       {4, "i32"}, {5, "i64"}, {8, "u16"}};
  for (const auto& [code, name] : codes) {
    Recipe recipe;
    recipe.code = code;
    const std::string bytes = index_of(recipe);
    EXPECT_STREQ(name_of(TokenIndex(bytes_in(bytes), "a.idx").type()), name);
  }
  expect_refused({.code = 6}, {"floats", "code 6"});
  expect_refused({.code = 7}, {"floats", "code 7"});
  expect_refused({.code = 0}, {"type code 0"});
  expect_refused({.code = 9}, {"type code 9"});
}

TEST(TokenIndex, RefusesForeignAndNewerHeaders) {
  expect_refused({.magic = "MMIDIDY\0\0"}, {"MMIDIDX"});
  expect_refused({.version = 2}, {"version 2", "version 1"});
  const std::string whole = index_of({});
  for (size_t size = 0; size < whole.size(); ++size)
    expect_usage({"a.idx"}, [&] { TokenIndex(bytes_in(whole).first(size), "a.idx"); });
  expect_usage({"truncated", "20", "34"}, [&] { TokenIndex(bytes_in(whole).first(20), "a.idx"); });
}

TEST(TokenIndex, RefusesCountsThatLie) {
  expect_refused({.sequences = 0}, {"0 sequences"});
  expect_refused({.count = 1}, {"1 document entries"});
  expect_refused({.sequences = 4}, {"4 sequences", "94 bytes"});
  expect_refused({.count = 4}, {"4 document entries", "94 bytes"});
  expect_refused({.sequences = 2}, {"94 bytes", "82"});
  for (const uint64_t huge :
       {uint64_t{1} << 32, uint64_t{1} << 61, UINT64_MAX / 12 + 1, UINT64_MAX}) {
    expect_refused({.sequences = huge}, {std::to_string(huge)});
    expect_refused({.count = huge}, {std::to_string(huge)});
    expect_refused({.sequences = huge, .count = huge}, {std::to_string(huge)});
  }
  expect_refused({.tail = "xy"}, {"96 bytes", "take 94"});
  expect_refused({.tail = "xyz"}, {"multimodal"});
}

TEST(TokenIndex, RefusesSequencesThatDoNotFitTheTokens) {
  expect_refused({.lengths = {3, 0, 5}}, {"sequence 1", "0 tokens"});
  expect_refused({.lengths = {3, -1, 4}}, {"sequence 1", "-1 tokens"});
  expect_refused({.offsets = {0, 8, 6}}, {"sequence 1", "byte 8", "byte 6"});
  expect_refused({.offsets = {2, 6, 8}}, {"sequence 0", "byte 2", "byte 0"});
  expect_refused({.offsets = {0, -6, 8}}, {"sequence 1", "byte -6"});
  expect_refused({}, {"14 bytes", "ends at byte 16"}, 14);
  expect_refused({}, {"18 bytes", "take 16"}, 18);
  expect_refused({.lengths = {3, INT32_MAX, 4}}, {"sequence 1", "16 bytes"});
}

TEST(TokenIndex, RefusesDocumentsThatDoNotAscendToTheEnd) {
  expect_refused({.entries = {1, 2, 3}}, {"begins with sequence 1"});
  expect_refused({.entries = {0, 4, 3}}, {"entry 1", "4 is followed by 3"});
  expect_refused({.entries = {0, -1, 3}}, {"entry 0", "0 is followed by -1"});
  expect_refused({.entries = {0, 2, 2}}, {"end with sequence 2", "has 3"});
  const std::string empty_document = index_of({.entries = {0, 0, 3}});
  TokenIndex(bytes_in(empty_document), "a.idx").check(16, "a.bin");
}

TEST(Shards, HeadersRoundTrip) {
  for (const TokenType type : {TokenType::u16, TokenType::u32}) {
    const std::string head = shard_header({type, 5});
    ASSERT_EQ(head.size(), kShardHeaderBytes);
    EXPECT_TRUE(is_shard(bytes_in(head)));
    const TokenShardHeader read =
        parse_shard_header(bytes_in(head), kShardHeaderBytes + 5u * token_bytes(type), "a.bin");
    EXPECT_EQ(read.type, type);
    EXPECT_EQ(read.tokens, 5u);
  }
  EXPECT_FALSE(is_shard(bytes_in("12345678")));
  EXPECT_FALSE(is_shard({}));
}

TEST(Shards, LiesAreRefused) {
  const auto refused = [](int32_t magic, int32_t version, int32_t count, uint64_t file_bytes,
                          std::initializer_list<std::string> words) {
    std::string head;
    put(head, magic);
    put(head, version);
    put(head, count);
    head.resize(std::min<uint64_t>(file_bytes, kShardHeaderBytes));
    ASSERT_TRUE(is_shard(bytes_in(head)));
    expect_usage(words, [&] { parse_shard_header(bytes_in(head), file_bytes, "a.bin"); });
    expect_usage({"a.bin"}, [&] { parse_shard_header(bytes_in(head), file_bytes, "a.bin"); });
  };
  refused(20240520, 7, 5, 1034, {"version 7", "version 1"});
  refused(20240801, 1, 5, 1044, {"version 1", "version 7"});
  refused(20240520, 1, 0, 1024, {"0 tokens"});
  refused(20240520, 1, -5, 1034, {"-5 tokens"});
  refused(20240520, 1, 5, 1033, {"1033 bytes", "take 1034"});
  refused(20240520, 1, 5, 1035, {"1035 bytes", "take 1034"});
  refused(20240801, 7, INT32_MAX, 1044, {"2147483647 tokens", "8589935612"});
  refused(20240520, 1, 5, 800, {"truncated", "800", "1024"});
  refused(20240326, 3, 1024, 4000, {"a model"});
  refused(20240328, 2, 50257, 4000, {"a tokenizer"});
}

TEST(BareTokens, MustBeWhole) {
  EXPECT_EQ(parse_bare_tokens(10, TokenType::u16, "a.bin"), 5u);
  expect_usage({"a.bin", "11 bytes", "u16"},
               [] { parse_bare_tokens(11, TokenType::u16, "a.bin"); });
  expect_usage({"a.bin", "empty"}, [] { parse_bare_tokens(0, TokenType::u16, "a.bin"); });
}

}  // namespace
}  // namespace skein::formats
