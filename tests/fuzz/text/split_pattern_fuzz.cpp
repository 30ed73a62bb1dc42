// The regular expression of a Split, up to the first line break, and a text behind it; its pieces
// must be the text.
#include "skein/text/split/split_pattern.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const size_t line = input.find('\n');
  if (line == std::string_view::npos) return;
  const skein::text::SplitPattern pattern{std::string(input.substr(0, line))};
  const std::string_view text = input.substr(line + 1, 200);
  std::string joined;
  pattern.divide(text, [&](std::string_view piece, bool) {
    if (piece.empty()) std::abort();
    joined += piece;
  });
  if (joined != text) std::abort();
}
