// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace skein::text {

// How many bytes at the start of `text` are valid UTF-8.
size_t valid_bytes(std::string_view text);

// Calls valid(piece) or broken(piece) for the longest pieces that are wholly valid UTF-8 or wholly
// not, in order.
template <class Valid, class Broken>
void by_validity(std::string_view text, Valid&& valid, Broken&& broken) {
  while (!text.empty()) {
    const size_t good = valid_bytes(text);
    if (good > 0) valid(text.substr(0, good));
    text.remove_prefix(good);
    size_t bad = 0;
    while (bad < text.size() && valid_bytes(text.substr(bad, 4)) == 0) ++bad;
    if (bad > 0) broken(text.substr(0, bad));
    text.remove_prefix(bad);
  }
}

inline bool valid_utf8(std::string_view text) { return valid_bytes(text) == text.size(); }

}  // namespace skein::text
