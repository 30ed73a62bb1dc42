// Where the sentences of a text end. White space between two sentences belongs to the second, as
// the words of byte-level BPE begin with their space: with split_gpt2 the pieces of the sentences
// are then those of the whole text.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace skein::text {

enum class SentenceRule {
  none,
  lines,      // each line that is not blank is a sentence
  automatic,  // running text: see sentence_ends
};

// Ends of the sentences in ascending order, text.size() last; white space alone is no sentence but
// part of a neighbour. Nothing for an empty text, one sentence under SentenceRule::none.
//
// Under SentenceRule::automatic a sentence ends
//   - at a blank line;
//   - after . ! ? … and the like, with the closing quotes and brackets behind them, where white
//     space and then an upper-case letter, a letter of a script without cases, a digit or an
//     opening quote or bracket follow;
//   - after the full stops of Chinese and Japanese (。！？), with closing quotes, whatever follows.
// A single full stop ends none after a title or an abbreviation (Mr. St. cf. vs.), a single letter
// but I (J. Smith), letters with full stops between them (e.g. U.S.; a.m. and p.m. may), nor before
// a digit after No. Vol. Fig. p. Jan. and the like.
std::vector<size_t> sentence_ends(std::string_view text, SentenceRule rule);

// The last end of a sentence in `text` but its own end, whatever comes after it; 0 if there is
// none. Only the last 64 KiB are looked at.
size_t last_sentence_end(std::string_view text, SentenceRule rule);

}  // namespace skein::text
