// A prompt with one of its answers as a decoder is fed them: the conversation as its chat template
// has it, up to the token that ends the answer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skein/text/template.h"

namespace skein::rlhf::rewards {

struct AnswerSequence {
  std::vector<int32_t> tokens;
  int64_t begin = 0;  // of the answer: the index of its first token, above 0
  bool cut = false;   // the prompt has lost its beginning

  // Takes `count` tokens from the beginning of the prompt.
  void drop(int64_t count) {
    tokens.erase(tokens.begin(), tokens.begin() + count);
    begin -= count;
    cut = cut || count > 0;
  }
  int64_t size() const { return std::ssize(tokens); }
  // Tokens of the answer, its end included.
  int64_t answer_tokens() const { return size() - begin; }
};

// One sequence an answer, none above `length` tokens: what is too long loses the beginning of the
// prompt, the same of it before each answer. Empty where an answer leaves no room for any of the
// prompt. A usage error for turns that the template has no form for.
std::vector<AnswerSequence> answer_sequences(const text::ChatTemplate& form,
                                             std::span<const text::Message> prompt,
                                             std::span<const std::string> answers, int64_t length);

}  // namespace skein::rlhf::rewards
