#include "skein/text/train_bpe.h"

#include "skein/core/error.h"
#include "skein/text/models/byte_alphabet.h"
#include "skein/text/split/split.h"

#include "merge_learner.h"

namespace skein::text {
namespace {

constexpr int64_t kLargestVocabulary = int64_t{1} << 24;

}  // namespace

void BpeTrainer::count(std::string_view text) {
  split_gpt2(text, [this](std::string_view word) { count_word(word); });
}

void BpeTrainer::count_word(std::string_view word) {
  ++words_;
  if (const auto found = counts_.find(word); found != counts_.end())
    ++found->second;
  else
    counts_.emplace(std::string(word), 1);
}

void BpeTrainer::merge(BpeTrainer&& other) {
  words_ += other.words_;
  if (counts_.empty()) counts_.swap(other.counts_);
  for (auto& [word, count] : other.counts_) counts_[word] += count;
  other = BpeTrainer();
}

std::vector<std::pair<int32_t, int32_t>> BpeTrainer::train(int64_t vocab_size,
                                                           int64_t min_frequency) const {
  require(vocab_size >= 257 && vocab_size <= kLargestVocabulary,
          "a vocabulary of {} ids cannot be learnt: 256 bytes and end-of-text take 257, and {} is "
          "the most",
          vocab_size, kLargestVocabulary);
  require(min_frequency >= 1, "a least frequency of {} makes no sense; use 1 or more",
          min_frequency);
  static constexpr auto ids = id_of_byte();
  MergeLearner learner(std::vector<uint64_t>(256, 1));
  std::vector<int32_t> symbols;
  for (const auto& [word, count] : counts_) {
    symbols.clear();
    for (const unsigned char byte : word) symbols.push_back(ids[byte]);
    learner.add_word(symbols, count);
  }
  int32_t made = 256;
  const auto room = [&] { return made < vocab_size - 1; };
  return learner.learn(min_frequency, room, [&](int32_t, int32_t) { return made++; });
}

}  // namespace skein::text
