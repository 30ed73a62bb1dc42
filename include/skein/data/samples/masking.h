// Which tokens of a sample are hidden from the model, for it to say what they were.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/samples/token_kinds.h"

namespace skein::data {

enum class MaskUnit { token, word, span };
// What the model says of a sample's two parts: nothing (there are none), whether the second follows
// the first or is of another document (BERT), or which of two that follow each other comes first
// (ALBERT, and Megatron-LM's BERT).
enum class PairTask { none, next, order };

struct MaskConfig {
  double rate = 0.15;   // of the tokens
  double masked = 0.8;  // of these become the mask token,
  double random = 0.1;  // these any other; the rest stays
  MaskUnit unit = MaskUnit::token;
  bool fixed = false;  // the same places in every epoch
  PairTask pairs = PairTask::none;
  double short_samples = 0.1;  // part of the pairs that is cut to a random length

  bool operator==(const MaskConfig&) const = default;
};

// Binds every field under section "mlm".
void bind(Options& options, MaskConfig& config);
// Usage errors for what cannot be.
void check(const MaskConfig& config);

// What masking needs to know of ids.
class MaskVocabulary : public TokenKinds {
 public:
  // A usage error naming what is missing when the tokenizer has no [CLS], [SEP], [MASK] or [PAD].
  // `origin` is named in it.
  MaskVocabulary(const text::Tokenizer& tokenizer, const std::string& origin);
  const text::TokenRoles& roles() const { return roles_; }

 private:
  text::TokenRoles roles_;
};

struct MaskedTokens {
  std::vector<int32_t> places, targets;  // ascending places
};

// Most places that a sample of `length` tokens can have.
int64_t most_places(const MaskConfig& config, int64_t length);

// Hides some of the tokens, in place. Special ones never are. At least 1 token is, at most `most`,
// else rate of them (Devlin and others, 2018). Words are taken whole, but where all are longer than
// that a part of one; spans are of whole words, geometrically many with p = 0.2 and at most 10, and
// become mask tokens, random ones or stay together (Joshi and others, "SpanBERT", 2020).
MaskedTokens mask_tokens(std::span<int32_t> tokens, const MaskVocabulary& vocabulary,
                         const MaskConfig& config, int64_t most, Draws draws);

}  // namespace skein::data
