// Tokens that are found in text before it is divided into words.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/models/byte_trie.h"

namespace skein::text {

struct AddedToken {
  int32_t id = -1;
  std::string content;
  bool special = false;      // stands for no text, and is found in trusted text only
  bool single_word = false;  // not where a word goes on before or after it
  bool lstrip = false;       // takes the white space before it
  bool rstrip = false;       // and after it
  bool normalized = false;   // looked for in the normalised text, in its own normalised form
};

class AddedTokenFinder {
 public:
  // `pattern` is what is looked for.
  void add(const AddedToken& token, std::string_view pattern);
  // Whether divide() would look for anything.
  bool any(bool specials) const { return specials ? !tokens_.empty() : ordinary_; }

  // Calls part(text, id) in order, with id -1 for text between tokens, which is never empty. Tokens
  // are taken leftmost first, the longest of those; one that does not count hides what it overlaps
  // with.
  template <class Part>
  void divide(std::string_view text, bool specials, Part&& part) const {
    size_t taken = 0;
    for (size_t at = 0; any(specials) && at < text.size();) {
      const ByteTrie::Match match =
          begins_[pair_at(text, at)] ? trie_.longest(text.substr(at)) : ByteTrie::Match();
      if (match.value < 0) {
        ++at;
        continue;
      }
      const AddedToken& token = tokens_[match.value];
      size_t begin = at, end = at + match.bytes;
      at = end;
      if (!counts(token, text, begin, end, specials)) continue;
      if (token.lstrip) begin = std::max(space_before(text, begin), taken);
      if (token.rstrip) end = space_after(text, end);
      if (begin > taken) part(text.substr(taken, begin - taken), -1);
      part(text.substr(begin, end - begin), token.id);
      taken = std::max(taken, end);
    }
    if (taken < text.size()) part(text.substr(taken), -1);
  }

 private:
  static size_t pair_at(std::string_view text, size_t at) {
    const unsigned char first = text[at], second = at + 1 < text.size() ? text[at + 1] : '\0';
    return first << 8 | second;
  }
  static bool counts(const AddedToken& token, std::string_view text, size_t begin, size_t end,
                     bool specials);
  static size_t space_before(std::string_view text, size_t at);
  static size_t space_after(std::string_view text, size_t at);

  std::vector<AddedToken> tokens_;
  ByteTrie trie_;
  std::bitset<65536> begins_;  // by the first two bytes
  bool ordinary_ = false;      // whether one is not special
};

}  // namespace skein::text
