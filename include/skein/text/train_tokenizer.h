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
//
// Unigram: the trainer of Kudo (2018) and SentencePiece, over words (unigram_learner.h). Whole
// words: the most frequent ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skein/text/tokenizer.h"
#include "skein/text/train_bpe.h"

namespace skein::text {

enum class LearntKind { bpe, wordpiece, unigram, word };
// What Unigram makes of text first: nothing, so that all of it comes back; or the form NFKC with
// one space for each run of white space.
enum class LearntForm { none, nfkc };

struct TrainerSettings {
  LearntKind kind = LearntKind::bpe;
  int64_t vocab_size = 4096;  // ids in all
  int64_t min_frequency = 2;  // pairs and whole words that occur less often are left out
  // the first ids; without any WordPiece takes [PAD] [UNK] [CLS] [SEP] [MASK], Unigram <unk> <s>
  // </s>, and whole words <pad> <s> </s> <unk>
  std::vector<std::string> special{};
  bool lowercase = true;  // WordPiece: lower-case text without accents
  // WordPiece, Unigram: the most characters, the rarest being left out
  int64_t limit_alphabet = 1000;
  LearntForm normal_form = LearntForm::none;
  bool byte_fallback = true;  // Unigram: other characters become their bytes, else unknown
  std::string pattern{};      // whole words: its matches are words; "": white space divides
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
  // counts only, at any number of threads. A usage error when the alphabet alone needs more ids.
  std::unique_ptr<Tokenizer> train(int threads = 1) const;
  // How many of the words that were counted are no token of it.
  int64_t unknown_words(const Tokenizer& tokenizer) const;

 private:
  struct Form;

  void read_form();

  TrainerSettings settings_;
  BpeTrainer words_;
  std::shared_ptr<const Form> form_;
};

}  // namespace skein::text
