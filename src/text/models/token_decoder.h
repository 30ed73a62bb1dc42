// How the tokens of an imported tokenizer become text again, where it takes more than their bytes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/text/split/split_pattern.h"

namespace skein::text {

class TokenDecoder {
 public:
  virtual ~TokenDecoder() = default;
  // Of tokens as vocabularies spell them; special ones only where they are to be seen. Thread-safe.
  virtual std::string decode(std::vector<std::string> tokens) const = 0;
  // Whether pieces such as <0x0A> are bytes.
  virtual bool joins_bytes() const = 0;
};

// A decoder of tokenizer.json; each is applied to what the one before it made of all tokens.
struct DecoderStep {
  enum class Kind { metaspace, replace, byte_fallback, fuse, strip, word_piece };
  Kind kind;
  std::string mark{};  // metaspace, replace (without a pattern), strip, word_piece: what it seeks
  std::string content{};  // replace: what it puts in
  std::shared_ptr<const SplitPattern> pattern{};
  bool flag = false;  // metaspace: the first token loses its marks; word_piece: tidies
  size_t at_begin = 0, at_end = 0;  // strip: the most at each side
};

// Without a step tokens stand with a space between them.
std::shared_ptr<const TokenDecoder> token_decoder(std::vector<DecoderStep> steps);

// Without the spaces before punctuation and contractions, as the reference does it to each token by
// itself.
std::string tidied(std::string token);

}  // namespace skein::text
