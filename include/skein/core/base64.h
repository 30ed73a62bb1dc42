// Bytes in text: base64 of RFC 4648 with its padding, as JSON files carry them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace skein {

std::string base64(std::string_view bytes);

// The bytes; nothing for what base64() would not write: other characters, line breaks, a wrong
// length or bits that no byte takes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace skein
