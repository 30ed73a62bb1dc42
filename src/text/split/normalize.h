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
  // The same of text that goes on with other text: what stands for a space before any text is put
  // there only for white space that is gone, taken away by this step or, `space_gone`, by one
  // before it.
  virtual std::string rewritten_within(std::string_view text, bool /*space_gone*/) const {
    return rewritten(text);
  }
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

// Where a text stands that is turned into tokens.
enum class TextPlace {
  begins,      // at the beginning of all text
  elsewhere,   // behind an added token, or what stood at the beginning was taken away
  goes_on,     // behind other text, with which it goes on
  after_space  // so, too, and the white space that it began with was taken away
};

std::string normalized(std::string_view text, const NormalizerStep& step);
// By all steps in turn. `place`, where one is given, follows what they take away.
std::string normalized(std::string_view text, const std::vector<NormalizerStep>& steps,
                       TextPlace* place = nullptr);
inline NormalizerStep rewrite_step(std::shared_ptr<const Rewriter> rewriter) {
  NormalizerStep step{NormalizerStep::Kind::rewrite};
  step.rewriter = std::move(rewriter);
  return step;
}
// Whether normalized() would give the text itself, seen at a glance: false where only work could
// tell.
bool surely_normal(std::string_view text, const std::vector<NormalizerStep>& steps);

}  // namespace skein::text
