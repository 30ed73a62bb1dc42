// The splitter of sentences, over any bytes.
#include "skein/text/sentences.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  for (const auto rule : {skein::SentenceRule::lines, skein::SentenceRule::automatic}) {
    size_t last = 0;
    for (const size_t end : skein::sentence_ends(input, rule)) {
      if (end <= last) std::abort();
      last = end;
    }
    if (last != input.size()) std::abort();
    if (skein::last_sentence_end(input, rule) >= input.size() && !input.empty()) std::abort();
  }
}
