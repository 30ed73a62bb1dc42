// Text of unknown origin as messages show it: no byte of it steers a terminal, and there is no more
// of it than helps.
#pragma once

#include <string>
#include <string_view>

namespace skein {

// Control characters but those in `kept`, and bytes that are no UTF-8, as \x1B.
std::string visible(std::string_view text, std::string_view kept = "\t");

// The visible form of its first 200 bytes at most, whole characters, "..." for what is left out.
std::string excerpt(std::string_view text);

// What an exception says; of the JSON library's an excerpt without its own name for the error.
std::string json_fault(std::string_view said);

}  // namespace skein
