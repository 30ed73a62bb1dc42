// The tokens that stand around a text where a model maps sources to targets: those of the
// tokenizer's template, or its end-of-text where it has none. T5 and Marian: text </s>, fed after
// <pad>. BART: <s> text </s>, fed after </s>.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/text/tokenizer.h"

namespace skein::data {

// Of one side.
struct SideFrame {
  std::vector<int32_t> before, after;

  int64_t size() const { return std::ssize(before) + std::ssize(after); }
  // The tokens in it; as many of their first ones as a side of `most` tokens holds.
  std::vector<int32_t> framed(std::vector<int32_t> tokens, int64_t most) const;
};

struct PairForm {
  SideFrame source, target;
  int32_t start = 0;                         // what the decoder is fed before the first label
  int32_t source_pad = -1, target_pad = -1;  // -1: there is no such token
};

// start: a token as the target's vocabulary spells it, such as "<pad>"; "" takes the padding token
// where there is one, else the token that ends a target. A usage error for targets without a token
// that ends them, for a start that is no token, and for a template that leaves out the text.
PairForm pair_form(const text::Tokenizer& source, const text::Tokenizer& target,
                   const std::string& start = "");

}  // namespace skein::data
