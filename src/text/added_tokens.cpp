#include "added_tokens.h"

#include "skein/core/numbers.h"

#include "text/split/unicode.h"

namespace skein::text {

void AddedTokenFinder::add(const AddedToken& token, std::string_view pattern) {
  if (pattern.empty()) return;
  trie_.insert(pattern, narrow<int32_t>(tokens_.size()));
  tokens_.push_back(token);
  ordinary_ = ordinary_ || !token.special;
  if (pattern.size() > 1) {
    begins_.set(pair_at(pattern, 0));
    return;
  }
  const size_t first = pair_at(pattern, 0) & 0xFF00;
  for (size_t second = 0; second < 256; ++second) begins_.set(first | second);
}

bool AddedTokenFinder::counts(const AddedToken& token, std::string_view text, size_t begin,
                              size_t end, bool specials) {
  if (token.special && !specials) return false;
  if (!token.single_word) return true;
  if (begin > 0 && word_character(character_before(text, begin).point)) return false;
  return end == text.size() || !word_character(character_at(text, end).point);
}

size_t AddedTokenFinder::space_before(std::string_view text, size_t at) {
  while (at > 0) {
    const Character previous = character_before(text, at);
    if (!white_space(previous.point)) break;
    at -= previous.bytes;
  }
  return at;
}

size_t AddedTokenFinder::space_after(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Character next = character_at(text, at);
    if (!white_space(next.point)) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace skein::text
