// What noise needs to know of ids.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/data/noise/noise.h"
#include "skein/data/samples/token_kinds.h"

namespace skein::data {

class NoiseVocabulary : public TokenKinds {
 public:
  // Usage errors that name `origin` and what is missing: text needs tokens that begin and end a
  // sample, pad and mask; spans those that end and pad. And for a start that is no token.
  NoiseVocabulary(const text::Tokenizer& tokenizer, const NoiseConfig& config,
                  const std::string& origin);

  int32_t bos() const { return bos_; }  // -1 with spans
  int32_t eos() const { return eos_; }
  int32_t pad() const { return pad_; }
  int32_t mask() const { return mask_; }  // -1 with spans
  int32_t start() const { return start_; }
  // Ids that stand for spans, the first for the first. With spans.
  const std::vector<int32_t>& sentinels() const { return sentinels_; }
  // Whether a token of text is never hidden: all special ones but that of unknown words.
  bool stays(int32_t id) const { return special(id) && id != unknown_; }
  // Whether a token means something to samples of spans and so cannot be of their text.
  bool reserved(int32_t id) const;

 private:
  int32_t bos_ = -1, eos_ = -1, pad_ = -1, mask_ = -1, start_ = -1, unknown_ = -1;
  std::vector<int32_t> sentinels_;
};

// A usage error naming the first missing one when there are fewer sentinels than `count`; of it
// `length` is the length of the source that needs so many.
void require_sentinels(const NoiseVocabulary& vocabulary, const NoiseConfig& config, int64_t count,
                       int64_t length, const std::string& origin);

}  // namespace skein::data
