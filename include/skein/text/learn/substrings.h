// The strings that occur again and again in words, by a suffix array.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skein::text {

struct CountedWord {
  std::string text;
  int64_t count = 0;
};

struct Substring {
  std::string_view text;  // lies in a word
  int64_t count = 0;      // over all words as often as they occur
};

// Those of 2 to `longest` characters that occur twice or more and cannot be made longer without
// occurring less often (the nodes of the words' suffix tree); the `most` whose count times length
// is largest, ties going to the first in the order of bytes. A string is a mark (or none) and
// characters of one kind: letters with their marks, numbers, or others.
std::vector<Substring> frequent_substrings(const std::vector<CountedWord>& words,
                                           std::string_view mark, size_t longest, size_t most);

// The bytes of each character that `text` begins with one after the other.
std::vector<std::string_view> characters_in(std::string_view text);

}  // namespace skein::text
