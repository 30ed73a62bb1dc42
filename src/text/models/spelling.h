// GPT-2's spelling of bytes in vocabularies: byte_of_id()[i] is the character i of an alphabet, the
// printable bytes themselves and U+0100 to U+0143.
#pragma once

#include <string>
#include <string_view>

namespace skein::text {

std::string spelt(std::string_view bytes);

// The bytes that `token` spells; false when it holds a character that is not of the alphabet.
bool unspelt(std::string_view token, std::string& bytes);

}  // namespace skein::text
