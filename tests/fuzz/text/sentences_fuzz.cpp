// The splitter of sentences, over any bytes.
#include "skein/text/sentences.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  for (const auto rule : {skein::text::SentenceRule::lines, skein::text::SentenceRule::automatic}) {
    size_t last = 0;
    for (const size_t end : skein::text::sentence_ends(input, rule)) {
      if (end <= last) std::abort();
      last = end;
    }
    if (last != input.size()) std::abort();
    if (skein::text::last_sentence_end(input, rule) >= input.size() && !input.empty()) std::abort();
  }
}
