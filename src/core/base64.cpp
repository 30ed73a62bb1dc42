#include "skein/core/base64.h"

#include <array>
#include <cstdint>

namespace skein {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<int8_t, 256> make_values() {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (int8_t value = 0; value < 64; ++value)
    values[static_cast<unsigned char>(kAlphabet[value])] = value;
  return values;
}

constexpr auto kValues = make_values();

}  // namespace

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view three = bytes.substr(at, 3);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < three.size() ? three[i] & 0xFF : 0);
    for (size_t i = 0; i < 4; ++i)
      text += i <= three.size() ? kAlphabet[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return {};
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t at = 0; at < text.size(); at += 4) {
    const size_t used = 4 - (at + 4 == text.size() ? padding : 0);
    uint32_t bits = 0;
    for (size_t i = 0; i < 4; ++i) {
      const int value = i < used ? kValues[static_cast<unsigned char>(text[at + i])] : 0;
      if (value < 0) return {};
      bits = bits << 6 | static_cast<uint32_t>(value);
    }
    if ((bits & ((uint32_t{1} << 8 * (4 - used)) - 1)) != 0) return {};
    for (size_t i = 0; i + 1 < used; ++i) bytes.push_back(static_cast<char>(bits >> (16 - 8 * i)));
  }
  return bytes;
}

}  // namespace skein
