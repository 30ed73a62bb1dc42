// Texts and their words as rules compare them: in Unicode's composed form and lower case.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skein::text {

// In composed form (NFC) and lower case, each run of white space as one blank, none at the ends.
std::string folded(std::string_view text);

// The words of folded(text): runs of word characters (\w with Unicode properties), held together by
// one apostrophe or hyphen between two of them: "don't", "well-known".
std::vector<std::string> folded_words(std::string_view text);

// With U+FFFD for each byte that is not part of valid UTF-8.
std::string with_valid_utf8(std::string_view text);

}  // namespace skein::text
