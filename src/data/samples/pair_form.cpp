#include "skein/data/samples/pair_form.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein::data {
namespace {

SideFrame frame_of(const text::Tokenizer& tokenizer) {
  const text::TextFrame asked = text_frame(tokenizer);
  SideFrame frame{asked.before, asked.after};
  const int32_t end = tokenizer.roles().eos;
  if (frame.size() == 0 && end >= 0) frame.after = {end};
  return frame;
}

int32_t start_of(const text::Tokenizer& tokenizer, const SideFrame& frame,
                 const std::string& start) {
  const int32_t pad = tokenizer.roles().pad;
  if (start.empty()) return pad >= 0 ? pad : frame.after.back();
  const int32_t found = tokenizer.id_of(start);
  require(
      found >= 0,
      "task.start=\"{}\" is no token of the targets' tokenizer; give one of its special tokens, "
      "such as <pad> or </s>",
      excerpt(start));
  return found;
}

}  // namespace

std::vector<int32_t> SideFrame::framed(std::vector<int32_t> tokens, int64_t most) const {
  SKEIN_CHECK(most > size());
  tokens.resize(std::min<size_t>(tokens.size(), most - size()));
  tokens.insert(tokens.begin(), before.begin(), before.end());
  tokens.insert(tokens.end(), after.begin(), after.end());
  return tokens;
}

PairForm pair_form(const text::Tokenizer& source, const text::Tokenizer& target,
                   const std::string& start) {
  PairForm form{.source = frame_of(source), .target = frame_of(target)};
  require(!form.target.after.empty(),
          "the targets' tokenizer has no token that ends a text, such as </s>, so no answer would "
          "ever end; add one to its template (post_processor)");
  form.start = start_of(target, form.target, start);
  form.source_pad = source.roles().pad;
  form.target_pad = target.roles().pad;
  return form;
}

}  // namespace skein::data
