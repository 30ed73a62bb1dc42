// What a tokenizer does to text before dividing it: Unicode normal forms, lower case, BERT's
// cleaning, and rewriters (rewriters.h). Bytes that are no valid UTF-8 pass through unchanged,
// except under BERT's cleaning, which drops them, and under SentencePiece's own rules.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace skein::text {

class Rewriter {
 public:
  virtual ~Rewriter() = default;
  // Thread-safe.
  virtual std::string rewritten(std::string_view text) const = 0;
  // Whether the result's first character stands where that of `text` stood.
  virtual bool keeps_start(std::string_view text) const = 0;
};

struct NormalizerStep {
  enum class Kind { nfc, nfd, nfkc, nfkd, lowercase, strip_accents, bert, rewrite };
  Kind kind;
  // Of kind bert only.
  bool clean_text = true;            // drop controls and U+FFFD, and make all white space spaces
  bool handle_chinese_chars = true;  // spaces around CJK ideographs
  bool strip_accents = true;
  bool lowercase = true;
  std::shared_ptr<const Rewriter> rewriter{};  // of kind rewrite only

  bool operator==(const NormalizerStep&) const = default;
};

std::string normalized(std::string_view text, const NormalizerStep& step);
// By all steps in turn. `at_start`, where one is given, becomes false when a step takes away what
// stood at the beginning of the text.
std::string normalized(std::string_view text, const std::vector<NormalizerStep>& steps,
                       bool* at_start = nullptr);
inline NormalizerStep rewrite_step(std::shared_ptr<const Rewriter> rewriter) {
  NormalizerStep step{NormalizerStep::Kind::rewrite};
  step.rewriter = std::move(rewriter);
  return step;
}
// Whether normalized() would give the text itself, seen at a glance: false where only work could
// tell.
bool surely_normal(std::string_view text, const std::vector<NormalizerStep>& steps);

}  // namespace skein::text
