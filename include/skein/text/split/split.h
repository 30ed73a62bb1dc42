// GPT-2's division of text into the words that BPE merges within. The first of these that matches
// is taken:
//   1. 's 't 're 've 'm 'll 'd
//   2. an optional space and letters (Unicode category L)
//   3. an optional space and numbers (N)
//   4. an optional space and what is neither white space, L nor N
//   5. white space that no non-space follows, so that its last character is left to the next word
//   6. white space
//
// White space is the Unicode property White_Space. A byte that is not part of valid UTF-8 counts
// under 4. The pieces end to end are the text.
#pragma once

#include <cstddef>
#include <string_view>

namespace skein::text {

// Where the piece that begins at `begin` ends. begin < text.size().
size_t gpt2_piece_end(std::string_view text, size_t begin);

// The same for the pattern of cl100k and Llama 3 (three digits at most) and of Qwen 2 (one):
//   1. contractions in any case
//   2. letters after at most one character that is no line break, letter or number
//   3. up to `digits` numbers
//   4. an optional space, what is neither white space, letter nor number, and line breaks after it
//   5. white space up to its last line break
//   6. and 7. as 5. and 6. above
size_t llama3_piece_end(std::string_view text, size_t begin, size_t digits);

// The same for the pattern of o200k (GPT-4o), to which marks are letters without case:
//   1. at most one character as in 2. of cl100k; then capitals and letters without case, then small
//      letters and letters without case, at least one of these, or else capitals first and nothing
//      after them; and at most one contraction behind them, in any case
//   2. up to three numbers
//   3. as 4. of cl100k with "/" among the line breaks
//   4. white space as there
size_t o200k_piece_end(std::string_view text, size_t begin);

// The same for the third pattern of DeepSeek V2 and V3, which does not match everywhere: `begin`
// itself is returned where it has no match.
//   1. a sign of ASCII and letters of ASCII
//   2. letters and marks after at most one character that is no line break, letter, punctuation or
//      symbol
//   3. an optional space, punctuation and symbols, and line breaks after them
//   4. white space as in cl100k
size_t deepseek_match_end(std::string_view text, size_t begin);

// Where up to `most` numbers end that begin at `at`; `at` where there is none.
size_t numbers_end(std::string_view text, size_t at, size_t most);

// Of the character at `at`, or 1 of a byte that is not part of valid UTF-8.
size_t character_bytes(std::string_view text, size_t at);

// Calls piece(std::string_view) for each piece in order, the first up to piece_end(text, 0).
template <class PieceEnd, class Piece>
void split_ends(std::string_view text, PieceEnd&& piece_end, Piece&& piece) {
  for (size_t begin = 0, end = 0; begin < text.size(); begin = end) {
    end = piece_end(text, begin);
    piece(text.substr(begin, end - begin));
  }
}

// As split_ends for what does not match everywhere: a match ends where match_end(text, begin) says,
// and there is none where it says `begin`. What lies between two matches is a piece.
template <class MatchEnd, class Piece>
void split_matches(std::string_view text, MatchEnd&& match_end, Piece&& piece) {
  size_t taken = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = match_end(text, at);
    if (end == at) {
      at += character_bytes(text, at);
      continue;
    }
    if (at > taken) piece(text.substr(taken, at - taken));
    piece(text.substr(at, end - at));
    taken = at = end;
  }
  if (taken < text.size()) piece(text.substr(taken));
}

template <class Piece>
void split_gpt2(std::string_view text, Piece&& piece) {
  split_ends(text, gpt2_piece_end, piece);
}

// The last index at which `text` may be cut in two so that both parts have the same pieces as the
// whole, whatever comes after it; 0 if there is none. Before a single space if there is one near
// by, where most other patterns may be cut too.
size_t last_safe_cut(std::string_view text);

// The largest index not above `limit` that does not fall into a UTF-8 character.
size_t character_cut(std::string_view text, size_t limit);

}  // namespace skein::text
