// Texts, pairs of texts and tagged words as a model with a head of labels is fed them.
//
// Encoders: the tokenizer's template, or [CLS] A [SEP], [CLS] A [SEP] B [SEP]; a label is read at
// the first place, a tag at the first sub-word of its word. Decoders: A, or A, a separator and B,
// then end-of-text where the tokenizer has one; a label is read at the last place, a tag at the
// last sub-word of its word. Framed by the tokenizer, decoders get its template alone, as
// transformers feeds them, and are read at its last place.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skein/data/samples/subwords.h"
#include "skein/text/tokenizer.h"

namespace skein::data {

struct LabelFormConfig {
  bool encoder = false;
  int64_t length = 128;          // tokens of the longest sample
  std::string separator = "\n";  // decoders: between the texts of a pair
  bool closed = true;            // decoders: end-of-text at the end
  bool framed = false;  // decoders: by the tokenizer's template, without separator and end-of-text
};

struct FormedSample {
  std::vector<int32_t> tokens;
  std::vector<int32_t> types;   // 1 in what belongs to the second text
  std::vector<int32_t> places;  // where labels are read
  bool cut = false;             // something of it was too long
};

// A window of a sentence whose sub-words do not fit one sample: its places are those of words
// [first, first + places).
struct FormedWords {
  FormedSample sample;
  int64_t first = 0;
};

class LabelForm {
 public:
  // tokenizer outlives the form. A usage error for a length that leaves no room for a token, and
  // for encoders without the special tokens or with a template that has no form for a text; for a
  // separator that is no UTF-8.
  LabelForm(const text::Tokenizer& tokenizer, const LabelFormConfig& config);

  // The longer text loses its end first where both do not fit.
  FormedSample text(const std::string& text) const;
  FormedSample pair(const std::string& first, const std::string& second) const;
  // Windows one after the other, so that each word is in one. cut: a word alone is longer than a
  // sample.
  std::vector<FormedWords> words(std::span<const std::string> words) const;

  bool encoder() const { return config_.encoder; }
  // Whether a token stands behind a pair's second text: the end of it, and all there is of an empty
  // one.
  bool closes_pairs() const;
  int32_t pad() const;

 private:
  FormedSample made(std::vector<int32_t> first, const std::vector<int32_t>* second) const;
  FormedSample encoder_sample(const std::vector<int32_t>& first,
                              const std::vector<int32_t>* second) const;
  FormedSample decoder_sample(const std::vector<int32_t>& first,
                              const std::vector<int32_t>* second) const;
  FormedSample words_sample(const Subwords& subwords) const;
  std::vector<int32_t> decoder_tokens(const std::vector<int32_t>& first,
                                      const std::vector<int32_t>* second) const;
  int64_t lead() const;
  int64_t room(bool pair) const;
  bool closing() const { return config_.closed && roles_.eos >= 0; }

  const text::Tokenizer& tokenizer_;
  LabelFormConfig config_;
  text::TokenRoles roles_;
  std::vector<int32_t> separator_;
  int64_t lead_ = 0;  // tokens of the encoder's template before the text
};

}  // namespace skein::data
