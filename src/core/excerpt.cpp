#include "skein/core/excerpt.h"

#include <algorithm>
#include <fmt/format.h>

namespace skein {
namespace {

constexpr size_t kMostBytes = 200;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Bytes of the character of UTF-8 that text begins with; 0 where it begins with none, or with a
// control character of two bytes (U+0080 to U+009F).
size_t character_bytes(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t bytes = at(0) < 0x80   ? 1
                       : at(0) < 0xC2 ? 0
                       : at(0) < 0xE0 ? 2
                       : at(0) < 0xF0 ? 3
                       : at(0) < 0xF5 ? 4
                                      : 0;
  if (bytes < 2) return bytes;
  if (text.size() < bytes ||
      !std::all_of(text.begin() + 1, text.begin() + static_cast<std::ptrdiff_t>(bytes), continues))
    return 0;
  // The second byte tells apart C1 controls, encodings that are too long, surrogates, and what is
  // beyond U+10FFFF.
  if (at(0) == 0xC2 && at(1) < 0xA0) return 0;
  if ((at(0) == 0xE0 && at(1) < 0xA0) || (at(0) == 0xF0 && at(1) < 0x90)) return 0;
  if ((at(0) == 0xED && at(1) >= 0xA0) || (at(0) == 0xF4 && at(1) >= 0x90)) return 0;
  return bytes;
}

bool is_control(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F; }

}  // namespace

std::string visible(std::string_view text, std::string_view kept) {
  std::string shown;
  while (!text.empty()) {
    const bool odd = is_control(text.front()) && kept.find(text.front()) == std::string_view::npos;
    const size_t bytes = odd ? 0 : character_bytes(text);
    if (bytes == 0) shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(text.front()));
    shown += text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return shown;
}

std::string excerpt(std::string_view text) {
  if (text.size() <= kMostBytes) return visible(text);
  size_t cut = kMostBytes;
  while (cut > kMostBytes - 3 && continues(text[cut])) --cut;
  return visible(text.substr(0, cut)) + "...";
}

std::string json_fault(std::string_view said) {
  const size_t bracket = said.find("] ");
  if (!said.starts_with("[json.exception") || bracket == std::string_view::npos)
    return std::string(said);
  return excerpt(said.substr(bracket + 2));
}

}  // namespace skein
