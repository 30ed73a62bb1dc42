// Learns byte-level BPE: words are counted (split_gpt2), then the pair of neighbours with the
// highest count is merged, ties going to the lowest (left id, right id), until the vocabulary is
// full.
//
//   BpeTrainer trainer;
//   trainer.count(text);  // any number of times; one thread a trainer
//   auto tokenizer = bpe_tokenizer(trainer.train(4096, 2));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "skein/core/strings.h"

namespace skein::text {

class BpeTrainer {
 public:
  // Adds the words of `text`.
  void count(std::string_view text);
  // Adds one word, as it is.
  void count_word(std::string_view word);
  // Adds what another trainer counted.
  void merge(BpeTrainer&& other);
  int64_t words() const { return words_; }
  int64_t distinct_words() const { return std::ssize(counts_); }

  // The merges of a vocabulary of vocab_size ids: 256 bytes, the merges, end-of-text; fewer when no
  // pair is left that occurs min_frequency times. Depends on the counts only. A usage error for
  // vocab_size < 257 or min_frequency < 1.
  std::vector<std::pair<int32_t, int32_t>> train(int64_t vocab_size, int64_t min_frequency) const;

  // Calls use(std::string_view word, int64_t count) for each distinct word.
  template <class Use>
  void for_each_word(Use&& use) const {
    for (const auto& [word, count] : counts_) use(std::string_view(word), count);
  }

 private:
  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> counts_;
  int64_t words_ = 0;
};

}  // namespace skein::text
