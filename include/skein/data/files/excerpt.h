// Parts of an input as errors show them: short, however large the input is.
#pragma once

#include <string>
#include <vector>

#include "skein/core/excerpt.h"

namespace skein {

// The words between commas, within about 200 bytes; "none" for none.
std::string listed(const std::vector<std::string>& words);

// "; did you mean \"text\"?" for the known word nearest to `word`, "" when none is near.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& known);

}  // namespace skein
