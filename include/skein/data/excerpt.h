// Parts of an input as errors show them: short, however large the input is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skein {

// Its first 200 bytes at most, whole characters, "..." for what is left out; control characters but tabs, and what is no UTF-8, as \x1B.
std::string excerpt(std::string_view text);

// The words between commas, within about 200 bytes; "none" for none.
std::string listed(const std::vector<std::string>& words);

// "; did you mean \"text\"?" for the known word nearest to `word`, "" when none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace skein
