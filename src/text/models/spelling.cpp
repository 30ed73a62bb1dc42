#include "spelling.h"

#include <array>

#include "skein/text/models/byte_alphabet.h"

#include "text/split/unicode.h"

namespace skein::text {
namespace {

constexpr int32_t kPrintable = 188;  // of the 256 bytes
constexpr int32_t kFirstOther = 256, kCharacters = kFirstOther + 256 - kPrintable;

constexpr std::array<int16_t, kCharacters> make_byte_of_character() {
  std::array<int16_t, kCharacters> bytes{};
  for (int16_t& byte : bytes) byte = -1;
  const auto order = byte_of_id();
  for (int32_t id = 0; id < 256; ++id) {
    const int16_t byte = order[id];
    bytes[id < kPrintable ? byte : kFirstOther + id - kPrintable] = byte;
  }
  return bytes;
}

constexpr auto kByteOfCharacter = make_byte_of_character();

constexpr std::array<int32_t, 256> make_character_of_byte() {
  std::array<int32_t, 256> characters{};
  for (int32_t point = 0; point < kCharacters; ++point)
    if (const int16_t byte = kByteOfCharacter[point]; byte >= 0) characters[byte] = point;
  return characters;
}

constexpr auto kCharacterOfByte = make_character_of_byte();

}  // namespace

std::string spelt(std::string_view bytes) {
  std::string token;
  for (const unsigned char byte : bytes) append_utf8(kCharacterOfByte[byte], token);
  return token;
}

bool unspelt(std::string_view token, std::string& bytes) {
  bytes.clear();
  for (size_t at = 0; at < token.size();) {
    const Character next = character_at(token, at);
    const bool known =
        next.point >= 0 && next.point < kCharacters && kByteOfCharacter[next.point] >= 0;
    if (!known) return false;
    bytes.push_back(kByteOfCharacter[next.point]);
    at += next.bytes;
  }
  return true;
}

}  // namespace skein::text
