// What a tokenizer does to text before dividing it: Unicode normal forms, lower case, and BERT's
// cleaning. Bytes that are no valid UTF-8 pass through unchanged, except under BERT's cleaning,
// which drops them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skein::text {

struct NormalizerStep {
  enum class Kind { nfc, nfd, nfkc, nfkd, lowercase, strip_accents, bert };
  Kind kind;
  // Of kind bert only.
  bool clean_text = true;            // drop controls and U+FFFD, and make all white space spaces
  bool handle_chinese_chars = true;  // spaces around CJK ideographs
  bool strip_accents = true;
  bool lowercase = true;

  bool operator==(const NormalizerStep&) const = default;
};

std::string normalized(std::string_view text, const NormalizerStep& step);
// By all steps in turn.
std::string normalized(std::string_view text, const std::vector<NormalizerStep>& steps);
// Whether normalized() would give the text itself, seen at a glance: false where only work could
// tell.
bool surely_normal(std::string_view text, const std::vector<NormalizerStep>& steps);

}  // namespace skein::text
