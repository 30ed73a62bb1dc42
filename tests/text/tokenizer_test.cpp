#include "skein/text/tokenizer.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>

#include "skein/core/error.h"
#include "skein/text/models/byte_alphabet.h"
#include "skein/text/split/split.h"
#include "skein/text/train_bpe.h"

#include "support/scratch.h"

namespace skein::text {
namespace {

using Ids = std::vector<int32_t>;
using Merges = std::vector<std::pair<int32_t, int32_t>>;

// "a" is 64, "b" 65, "c" 66: ab = 256, abc = 257, aa = 258.
const Merges kSmall = {{64, 65}, {256, 66}, {64, 64}};

void expect_usage(const std::string& json, const std::vector<std::string>& words) {
  try {
    tokenizer_from_json(json);
    ADD_FAILURE() << "accepted: " << json;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage) << error.what();
    for (const auto& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << word << " in: " << error.what();
  }
}

std::string with_merges(const std::string& merges) {
  return R"({"type":"byte_bpe","version":1,"merges":)" + merges + "}";
}

std::string random_bytes(std::mt19937& random, size_t size) {
  std::string text(size, '\0');
  for (char& byte : text) byte = static_cast<char>(random() % 4 ? "ab c"[random() % 4] : random());
  return text;
}

// All occurrences of the best pair at a time, as the rule is usually told.
Ids merged_slowly(std::string_view word, const Merges& merges) {
  const auto ids_of_bytes = id_of_byte();
  Ids ids;
  for (const char byte : word) ids.push_back(ids_of_bytes[static_cast<unsigned char>(byte)]);
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    Ids next;
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool match = i + 1 < ids.size() && std::pair(ids[i], ids[i + 1]) == merges[rank];
      next.push_back(match ? 256 + static_cast<int32_t>(rank) : ids[i]);
      i += match ? 1 : 0;
    }
    ids = next;
  }
  return ids;
}

Merges random_merges(std::mt19937& random, int count) {
  std::map<std::pair<int32_t, int32_t>, bool> seen;
  Merges merges;
  while (static_cast<int>(merges.size()) < count) {
    const auto pick = [&] {
      const int32_t made = static_cast<int32_t>(merges.size());
      return made > 0 && random() % 2
                 ? 256 + static_cast<int32_t>(random() % static_cast<uint32_t>(made))
                 : 64 + static_cast<int32_t>(random() % 2);
    };
    const std::pair<int32_t, int32_t> pair(pick(), pick());
    if (seen.emplace(pair, true).second) merges.push_back(pair);
  }
  return merges;
}

TEST(Bytes, IdsAreTheBytes) {
  const auto tokenizer = byte_tokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  EXPECT_EQ(tokenizer->end_of_text(), 256);
  EXPECT_EQ(tokenizer->encode("A\xff"), (Ids{65, 255}));
  EXPECT_EQ(tokenizer->decode({65, 256, 0}), std::string("A\0", 2));
  EXPECT_EQ(tokenizer->to_json(), R"({"type":"bytes","version":1})");
  EXPECT_THROW(tokenizer->bytes_of(257), Error);
  EXPECT_THROW(tokenizer->bytes_of(-1), Error);
}

TEST(Bpe, BytesStandInTheOrderOfTheirAlphabet) {
  const auto tokenizer = bpe_tokenizer({});
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  EXPECT_EQ(tokenizer->encode("!a\n ~"), (Ids{0, 64, 198, 220, 93}));
  EXPECT_EQ(tokenizer->encode("\xa1\xac\xae\xff\xad"), (Ids{94, 105, 106, 187, 255}));
  EXPECT_EQ(tokenizer->encode(std::string(1, '\0')), (Ids{188}));
}

TEST(Bpe, LowestRankFirstThenLeftmost) {
  const auto tokenizer = bpe_tokenizer(kSmall);
  EXPECT_EQ(tokenizer->vocab_size(), 260);
  EXPECT_EQ(tokenizer->end_of_text(), 259);
  EXPECT_EQ(tokenizer->encode("aab"), (Ids{64, 256}));
  EXPECT_EQ(tokenizer->encode("aaa"), (Ids{258, 64}));
  EXPECT_EQ(tokenizer->encode("abcab"), (Ids{257, 256}));
  EXPECT_EQ(tokenizer->encode("ab c"), (Ids{256, 220, 66}));
  EXPECT_EQ(tokenizer->bytes_of(257), "abc");
  EXPECT_EQ(tokenizer->bytes_of(259), "");
  EXPECT_THROW(tokenizer->bytes_of(260), Error);
}

TEST(Bpe, ShortAndLongWordsFollowTheRule) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Merges merges = random_merges(random, 1 + static_cast<int>(random() % 12));
    const auto tokenizer = bpe_tokenizer(merges);
    std::string word(1 + random() % 120, 'a');
    for (char& letter : word) letter = static_cast<char>('a' + random() % 2);
    ASSERT_EQ(tokenizer->encode(word), merged_slowly(word, merges))
        << word << " " << tokenizer->to_json();
  }
}

TEST(Bpe, AnyBytesComeBack) {
  std::mt19937 random(5);
  BpeTrainer trainer;
  for (int i = 0; i < 50; ++i) trainer.count(random_bytes(random, 400));
  const auto tokenizer = bpe_tokenizer(trainer.train(400, 2));
  EXPECT_EQ(tokenizer->vocab_size(), 400);
  for (int round = 0; round < 300; ++round) {
    const std::string text = random_bytes(random, random() % 3000);
    const Ids ids = tokenizer->encode(text);
    ASSERT_EQ(tokenizer->decode(ids), text);
    for (const int32_t id : ids) ASSERT_NE(id, tokenizer->end_of_text());
  }
}

TEST(Bpe, TheNameOfASpecialTokenIsPlainText) {
  const auto tokenizer = bpe_tokenizer(kSmall);
  for (const int32_t id : tokenizer->encode("<|endoftext|>")) EXPECT_LT(id, 259);
}

TEST(Bpe, ALongWordTakesNoAge) {
  const auto tokenizer = bpe_tokenizer({{64, 64}, {256, 256}, {257, 257}});
  const std::string word((1 << 20) + 3, 'a');
  const Ids ids = tokenizer->encode(word);
  EXPECT_EQ(ids.size(), static_cast<size_t>((1 << 17) + 2));
  EXPECT_EQ(tokenizer->decode(ids), word);
}

TEST(Bpe, TokenizersInTurnAndThreadsDoNotMixUp) {
  const auto plain = bpe_tokenizer({}), small = bpe_tokenizer(kSmall);
  const auto body = [&] {
    for (int i = 0; i < 200; ++i) {
      EXPECT_EQ(plain->encode("abc"), (Ids{64, 65, 66}));
      EXPECT_EQ(small->encode("abc"), (Ids{257}));
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
}

TEST(Json, TokenizersComeBackTheSame) {
  const auto tokenizer = bpe_tokenizer(kSmall);
  EXPECT_EQ(tokenizer->to_json(), with_merges("[[64,65],[256,66],[64,64]]"));
  EXPECT_EQ(tokenizer_from_json(tokenizer->to_json())->to_json(), tokenizer->to_json());
  EXPECT_EQ(tokenizer_from_json(bpe_tokenizer({})->to_json())->vocab_size(), 257);
  EXPECT_EQ(tokenizer_from_json(byte_tokenizer()->to_json())->to_json(),
            byte_tokenizer()->to_json());
}

TEST(Json, MistakesAreNamed) {
  expect_usage("", {"JSON"});
  expect_usage("{", {"JSON", "column"});
  expect_usage("[1]", {"object", "array"});
  expect_usage(R"({"models":{}})", {"type", "another program"});
  expect_usage(R"({"model":{}})", {"model", "type"});
  expect_usage(R"({"type":"words","version":1})", {"words", "byte_bpe"});
  expect_usage(R"({"type":"bytes"})", {"version", "missing"});
  expect_usage(R"({"type":"bytes","version":2})", {"2", "version 1"});
  expect_usage(R"({"type":"bytes","version":1,"merges":[]})", {"merges"});
  expect_usage(R"({"type":"byte_bpe","version":1})", {"merges", "missing"});
}

TEST(Json, MergesAreChecked) {
  expect_usage(with_merges("{}"), {"array", "object"});
  expect_usage(with_merges("[[1]]"), {"merge 0", "pair"});
  expect_usage(with_merges("[[1,2],[1,\"b\"]]"), {"merge 1", "string"});
  expect_usage(with_merges("[[1,-2]]"), {"merge 0", "-2"});
  expect_usage(with_merges("[[1,1.5]]"), {"merge 0", "1.5"});
  expect_usage(with_merges("[[1,99999999999999999999]]"), {"merge 0"});
  expect_usage(with_merges("[[1,4294967297]]"), {"merge 0", "4294967297"});
  expect_usage(with_merges("[[1,2],[257,1]]"), {"merge 1", "257", "256"});
  expect_usage(with_merges("[[1,2],[3,4],[1,2]]"), {"merge 2", "merge 0"});
  std::string doubling = "[[64,64]";
  for (int i = 0; i < 60; ++i) doubling += fmt::format(",[{0},{0}]", 256 + i);
  expect_usage(with_merges(doubling + "]"), {"merge 12", "8192", "4096"});
}

TEST(Json, ThatSaysThingsTwiceOrHasNoEndIsRefused) {
  expect_usage(R"({"version": 1, "version": 1})", {"the tokenizer names version twice"});
  expect_usage(std::string(1 << 20, '['), {"nested deeper than the 32 levels"});
  expect_usage("\"" + std::string(1 << 20, 'x'),
               {"the tokenizer is not JSON", "missing closing quote"});
}

TEST(Files, AreReadAndNamedInErrors) {
  const test::Scratch folder;
  const std::string good = folder.write("good.json", bpe_tokenizer(kSmall)->to_json() + "\n"),
                    bad = folder.write("bad.json", "no tokenizer");
  EXPECT_EQ(load_tokenizer(good)->vocab_size(), 260);
  EXPECT_EQ(load_tokenizer("bytes")->vocab_size(), 257);
  const std::vector<std::pair<std::string, std::string>> mistakes = {
      {bad, "bad.json: the tokenizer is not JSON"},
      {folder.path(), "holds no tokenizer"},
      {folder.file("none"), "train-tokenizer"}};
  for (const auto& [path, words] : mistakes) {
    try {
      load_tokenizer(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace skein::text
