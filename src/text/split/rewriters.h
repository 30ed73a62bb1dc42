// What tokenizers do to text before dividing it, where more than a flag says what: replacements,
// SentencePiece's tables of characters, white space at the ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "skein/text/split/split_pattern.h"

#include "normalize.h"

namespace skein::text {

// Of each grapheme cluster below 6 bytes what the table has for the shortest string it begins with,
// else that of each character: the reference's rule, which is not SentencePiece's own. A usage
// error as Charsmap.
NormalizerStep precompiled_step(std::string_view charsmap, const std::string& where);

// `content` for each match; `literal` is looked for as it is where there is no pattern.
NormalizerStep replace_step(std::shared_ptr<const SplitPattern> pattern, std::string literal,
                            std::string content);

// No white space at the ends.
NormalizerStep strip_step(bool left, bool right);

// `mark` before text that is not empty.
NormalizerStep prepend_step(std::string mark);

// `text` with `to` for each `from`, which is not empty.
std::string replaced(std::string_view text, std::string_view from, std::string_view to);

}  // namespace skein::text
