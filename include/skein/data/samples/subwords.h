// The sub-words of words given one by one, for tags that belong to words.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "skein/text/tokenizer.h"

namespace skein::data {

struct Subwords {
  std::vector<int32_t> ids;
  // Word w has the ids [begin[w], begin[w + 1]): its tag is read at its first sub-word, or, by a
  // model that looks back only, at its last. One entry more than there are words in ids.
  std::vector<int64_t> begin{0};
  int64_t words() const { return std::ssize(begin) - 1; }
};

// Each word encoded by itself, after a space, as one that stands within a text. A word that encodes
// to nothing gets the tokenizer's unknown token, a usage error when there is none. At most `most`
// ids, most >= 1: the last word that begins within them may lose its end, those after it are left
// out, so words() says which words of the input were cut off.
Subwords encode_words(const text::Tokenizer& tokenizer, std::span<const std::string> words,
                      int64_t most);

}  // namespace skein::data
