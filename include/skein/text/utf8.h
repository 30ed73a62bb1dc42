// Whether bytes are text.
#pragma once

#include <cstddef>
#include <string_view>

namespace skein {

// How many bytes at the start of `text` are valid UTF-8.
size_t valid_bytes(std::string_view text);

inline bool valid_utf8(std::string_view text) { return valid_bytes(text) == text.size(); }

}  // namespace skein
