#include "skein/text/train_bpe.h"

#include <gtest/gtest.h>
#include <map>
#include <random>

#include "skein/core/error.h"
#include "skein/text/models/byte_alphabet.h"
#include "skein/text/split/split.h"
#include "skein/text/tokenizer.h"

namespace skein::text {
namespace {

using Merges = std::vector<std::pair<int32_t, int32_t>>;
using WordCounts = std::map<std::vector<int32_t>, int64_t>;

WordCounts words_of(const std::vector<std::string>& texts) {
  const auto ids_of_bytes = id_of_byte();
  WordCounts words;
  for (const auto& text : texts)
    split_gpt2(text, [&](std::string_view piece) {
      std::vector<int32_t> ids;
      for (const char byte : piece) ids.push_back(ids_of_bytes[static_cast<unsigned char>(byte)]);
      ++words[ids];
    });
  return words;
}

std::vector<int32_t> replaced(const std::vector<int32_t>& ids, std::pair<int32_t, int32_t> pair,
                              int32_t made) {
  std::vector<int32_t> next;
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool match = i + 1 < ids.size() && ids[i] == pair.first && ids[i + 1] == pair.second;
    next.push_back(match ? made : ids[i]);
    i += match ? 1 : 0;
  }
  return next;
}

// The rule as it is told: count all pairs anew for each merge. std::map ascends, so the first of
// equals is the lowest pair.
Merges learnt_slowly(WordCounts words, int64_t merges, int64_t min_frequency) {
  Merges learnt;
  while (static_cast<int64_t>(learnt.size()) < merges) {
    std::map<std::pair<int32_t, int32_t>, int64_t> counts;
    for (const auto& [ids, count] : words)
      for (size_t i = 0; i + 1 < ids.size(); ++i) counts[{ids[i], ids[i + 1]}] += count;
    auto best = counts.end();
    for (auto at = counts.begin(); at != counts.end(); ++at)
      if (best == counts.end() || at->second > best->second) best = at;
    if (best == counts.end() || best->second < min_frequency) break;
    const auto made = 256 + static_cast<int32_t>(learnt.size());
    learnt.push_back(best->first);
    WordCounts next;
    for (const auto& [ids, count] : words) next[replaced(ids, best->first, made)] += count;
    words = next;
  }
  return learnt;
}

std::string babble(std::mt19937& random, int letters, int size) {
  std::string text;
  for (int i = 0; i < size; ++i)
    text += random() % 5 == 0 ? ' '
                              : static_cast<char>('a' + random() % static_cast<uint32_t>(letters));
  return text;
}

std::string error_of(int64_t vocab_size, int64_t min_frequency) {
  return refusal_of([&] { BpeTrainer().train(vocab_size, min_frequency); });
}

// aaabdaaabac: aa 4 times; then (aa)a and ab twice each, and 64 65 is the lower pair; then (aa)(ab)
// twice.
TEST(TrainBpe, MergesByHand) {
  BpeTrainer trainer;
  trainer.count("aaabdaaabac");
  const Merges expected = {{64, 64}, {64, 65}, {256, 257}};
  EXPECT_EQ(trainer.train(1000, 2), expected);
  EXPECT_EQ(trainer.train(259, 1), Merges(expected.begin(), expected.begin() + 2));
  EXPECT_EQ(trainer.train(257, 1), Merges{});
}

TEST(TrainBpe, WordsAreCountedNotJoined) {
  BpeTrainer trainer;
  trainer.count("ab ab ab");
  trainer.count("ba");
  EXPECT_EQ(trainer.words(), 4);
  EXPECT_EQ(trainer.distinct_words(), 3);
  // ab 3 times, then " ab" twice; "b" and " " never meet inside a word.
  EXPECT_EQ(trainer.train(1000, 2), (Merges{{64, 65}, {220, 256}}));
}

TEST(TrainBpe, AgreesWithCountingAnew) {
  std::mt19937 random(17);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> texts;
    BpeTrainer trainer;
    for (int i = 0; i < 4; ++i) {
      texts.push_back(babble(random, 1 + round % 6, 200));
      trainer.count(texts.back());
    }
    const int64_t frequency = 1 + round % 3;
    ASSERT_EQ(trainer.train(257 + 80, frequency), learnt_slowly(words_of(texts), 80, frequency))
        << texts[0];
  }
}

TEST(TrainBpe, MergedTrainersCountTheSame) {
  std::mt19937 random(19);
  BpeTrainer whole, first, second;
  for (int i = 0; i < 40; ++i) {
    const std::string text = babble(random, 5, 300);
    whole.count(text);
    (i % 2 ? first : second).count(text);
  }
  first.merge(std::move(second));
  EXPECT_EQ(first.words(), whole.words());
  EXPECT_EQ(first.distinct_words(), whole.distinct_words());
  EXPECT_EQ(first.train(500, 2), whole.train(500, 2));
}

TEST(TrainBpe, WhatIsLearntCanBeUsed) {
  BpeTrainer trainer;
  trainer.count("the cat and the hat and the bat");
  const auto tokenizer = bpe_tokenizer(trainer.train(300, 2));
  EXPECT_LT(tokenizer->vocab_size(), 300);
  EXPECT_EQ(tokenizer->encode(" the").size(), 1u);
  EXPECT_EQ(tokenizer->encode(" and").size(), 1u);
}

TEST(TrainBpe, NoTokenIsLongerThanTheTokenizerTakes) {
  BpeTrainer trainer;
  trainer.count(std::string(40000, 'a'));
  const auto merges = trainer.train(400, 1);
  EXPECT_NO_THROW(bpe_tokenizer(merges));
  EXPECT_GE(merges.size(), 12u);
}

TEST(TrainBpe, SettingsOutOfRangeAreUsageErrors) {
  EXPECT_NE(error_of(256, 2).find("257"), std::string::npos);
  EXPECT_NE(error_of(int64_t{1} << 40, 2).find("16777216"), std::string::npos);
  EXPECT_NE(error_of(300, 0).find("least frequency of 0"), std::string::npos);
}

}  // namespace
}  // namespace skein::text
