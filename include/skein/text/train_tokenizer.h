// Learns tokenizers of several kinds.
//
//   TokenizerTrainer trainer({.kind = LearntKind::wordpiece, .vocab_size = 8192});
//   trainer.count(text);  // any number of times; one thread a trainer
//   auto tokenizer = trainer.train();
//
// Byte-level BPE without special tokens is train_bpe.h's. With special tokens, and for WordPiece,
// ids and ties follow the reference library: special tokens first, then the alphabet by code point,
// then the merges; WordPiece is BPE over characters whose pieces inside of words begin with "##".
// Where the reference leaves the order to chance (the ids of "##" characters, and which of equally
// rare characters are left out), the lower code point comes first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skein/text/tokenizer.h"
#include "skein/text/train_bpe.h"

namespace skein::text {

enum class LearntKind { bpe, wordpiece };

struct TrainerSettings {
  LearntKind kind = LearntKind::bpe;
  int64_t vocab_size = 4096;  // ids in all
  int64_t min_frequency = 2;  // pairs that occur less often are not merged
  // the first ids; WordPiece without any takes [PAD] [UNK] [CLS] [SEP] [MASK]
  std::vector<std::string> special{};
  bool lowercase = true;          // WordPiece: lower-case text without accents
  int64_t limit_alphabet = 1000;  // WordPiece: the most characters, the rarest being left out
};

class TokenizerTrainer {
 public:
  // A usage error for settings that make no sense.
  explicit TokenizerTrainer(TrainerSettings settings);

  // Adds the words of `text`.
  void count(std::string_view text);
  // Adds what another trainer counted.
  void merge(TokenizerTrainer&& other) { words_.merge(std::move(other.words_)); }
  int64_t words() const { return words_.words(); }
  int64_t distinct_words() const { return words_.distinct_words(); }

  // Of fewer ids than asked for when no pair is left that occurs often enough. Depends on the
  // counts only. A usage error when the alphabet alone needs more ids.
  std::unique_ptr<Tokenizer> train() const;

 private:
  TrainerSettings settings_;
  BpeTrainer words_;
};

}  // namespace skein::text
