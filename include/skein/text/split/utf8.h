// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace skein {

// How many bytes at the start of `text` are valid UTF-8.
size_t valid_bytes(std::string_view text);

// Calls part(piece, whether it is valid UTF-8) for the longest pieces that are wholly so or wholly
// not, in order.
template <class Part>
void by_validity(std::string_view text, Part&& part) {
  while (!text.empty()) {
    const size_t valid = valid_bytes(text);
    if (valid > 0) part(text.substr(0, valid), true);
    text.remove_prefix(valid);
    size_t broken = 0;
    while (broken < text.size() && valid_bytes(text.substr(broken, 4)) == 0) ++broken;
    if (broken > 0) part(text.substr(0, broken), false);
    text.remove_prefix(broken);
  }
}

inline bool valid_utf8(std::string_view text) { return valid_bytes(text) == text.size(); }

}  // namespace skein
