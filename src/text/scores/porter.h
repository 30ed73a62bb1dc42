// Porter, "An algorithm for suffix stripping" (1980), with the changes that NLTK made to it and
// that rouge-score therefore has.
#pragma once

#include <string>

namespace skein::text {

// The stem of a word of small letters of ASCII and digits.
std::string porter_stem(std::string word);

}  // namespace skein::text
