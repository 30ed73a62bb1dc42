// What ids are to what hides tokens: words of text, parts of them, or nothing of the text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/data/samples/draws.h"
#include "skein/text/tokenizer.h"

namespace skein::data {

class TokenKinds {
 public:
  // A usage error naming `origin` when no id stands for text.
  TokenKinds(const text::Tokenizer& tokenizer, const std::string& origin);
  bool special(int32_t id) const { return kinds_[id] == Kind::special; }
  // Special ones do.
  bool begins_word(int32_t id) const { return kinds_[id] != Kind::goes_on; }
  // Any id that stands for text.
  int32_t random_id(Draws& draws) const { return ordinary_[draws.below(std::ssize(ordinary_))]; }

 private:
  enum class Kind : uint8_t { special, begins, goes_on };

  std::vector<Kind> kinds_;
  std::vector<int32_t> ordinary_;
};

}  // namespace skein::data
