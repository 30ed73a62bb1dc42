// How an imported tokenizer turns one word into ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "skein/core/error.h"

#include "vocabulary.h"

namespace skein::text {

// U+2581, which stands for a space in the vocabularies of SentencePiece and its kin.
constexpr const char* kSpaceMark = "\u2581";

class WordModel {
 public:
  explicit WordModel(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  virtual ~WordModel() = default;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // Appends the ids of `word`, which is not empty. Thread-safe.
  virtual void encode(std::string_view word, std::vector<int32_t>& ids) const = 0;
  // What a token of the vocabulary stands for: its bytes, or its piece of a word without what marks
  // a continuation.
  virtual std::string piece_of(int32_t id) const = 0;
  // Whether the token goes on with a word; false where tokens do not tell.
  virtual bool continues_word(int32_t id) const = 0;
  // Whether decoding puts spaces between words, as continues_word() tells them.
  virtual bool joins_words() const { return false; }
  // Whether text may be divided before each run of `mark` that something else stands before, and
  // the parts encoded one by one.
  virtual bool divides_at(std::string_view) const { return false; }
  // Of the unknown word, -1 if there is none.
  int32_t unknown() const { return unknown_; }
  // The member "model" of a tokenizer.json.
  virtual std::string to_json() const = 0;

 protected:
  // A usage error when it is not in the vocabulary.
  void set_unknown(const std::string& token) {
    unknown_ = vocabulary_.find(token);
    require(unknown_ >= 0, "the model's unk_token {} is not in its vocabulary", token);
  }

 private:
  Vocabulary vocabulary_;
  int32_t unknown_ = -1;
};

// Whether `id` is one of these, which ascend.
inline bool among(const std::vector<int32_t>& ids, int32_t id) {
  return std::binary_search(ids.begin(), ids.end(), id);
}

using TokenPairs = std::vector<std::pair<std::string, std::string>>;

// Whether the mark is a token, and no token has it behind anything but marks.
bool mark_begins_tokens(const Vocabulary& vocabulary, std::string_view mark);

struct BpeSettings {
  std::string unk_token;  // "": what has no token is left out
  bool fuse_unk = false;
  bool ignore_merges = false;  // a whole word in the vocabulary is taken at once
  bool byte_fallback = false;  // characters without a token become pieces such as <0x0A>
};

// Tokens are spelt in GPT-2's alphabet of bytes. No word becomes one of the special ids, whatever
// the merges say, except single bytes. A usage error for merges whose parts or result are not in
// the vocabulary.
std::unique_ptr<WordModel> byte_bpe_model(Vocabulary vocabulary, const TokenPairs& merges,
                                          BpeSettings settings,
                                          const std::vector<int32_t>& specials);

// The same over characters, which vocabularies spell as they are.
std::unique_ptr<WordModel> character_bpe_model(Vocabulary vocabulary, const TokenPairs& merges,
                                               BpeSettings settings,
                                               const std::vector<int32_t>& specials);

struct UnigramSettings {
  std::vector<double> scores;  // by id, of each token of the vocabulary
  int32_t unknown = 0;
  bool byte_fallback = false;
};

// The tokens whose scores have the largest sum (best_path.h), special ones never; a character that
// is none counts 10 less than the lowest score. Unknown ones side by side become one, or bytes.
std::unique_ptr<WordModel> unigram_model(Vocabulary vocabulary, UnigramSettings settings,
                                         const std::vector<int32_t>& specials);

// Whole words; any other, and what special tokens are spelt as, is unknown. A usage error when
// unk_token is not in the vocabulary.
std::unique_ptr<WordModel> word_level_model(Vocabulary vocabulary, const std::string& unk_token,
                                            const std::vector<int32_t>& specials);

struct WordPieceSettings {
  std::string unk_token = "[UNK]";
  std::string prefix = "##";
  int64_t most_characters = 100;
};

// The longest piece that matches, again and again; never a special id, but unk_token for words that
// do not match. A usage error when unk_token is not in the vocabulary.
std::unique_ptr<WordModel> wordpiece_model(Vocabulary vocabulary, WordPieceSettings settings,
                                           const std::vector<int32_t>& specials);

}  // namespace skein::text
