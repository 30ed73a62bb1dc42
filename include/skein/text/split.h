// GPT-2's division of text into the words that BPE merges within. The first of these that matches is taken:
//   1. 's 't 're 've 'm 'll 'd                2. an optional space and letters (Unicode category L)
//   3. an optional space and numbers (N)      4. an optional space and what is neither white space, L nor N
//   5. white space that no non-space follows, so that its last character is left to the next word
//   6. white space
// White space is the Unicode property White_Space. A byte that is not part of valid UTF-8 counts under 4.
// The pieces end to end are the text.
#pragma once

#include <cstddef>
#include <string_view>

namespace skein {

// Where the piece that begins at `begin` ends. begin < text.size().
size_t gpt2_piece_end(std::string_view text, size_t begin);

// The same for the pattern of cl100k and Llama 3 (three digits at most) and of Qwen 2 (one): 1. contractions in any
// case, 2. letters after at most one character that is no line break, letter or number, 3. up to `digits` numbers,
// 4. an optional space, what is neither white space, letter nor number, and line breaks after it, 5. white space up to
// its last line break, 6. and 7. as 5. and 6. above.
size_t llama3_piece_end(std::string_view text, size_t begin, size_t digits);

// Calls piece(std::string_view) for each piece in order.
template <class Piece>
void split_gpt2(std::string_view text, Piece&& piece) {
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = gpt2_piece_end(text, begin);
    piece(text.substr(begin, end - begin));
    begin = end;
  }
}

// The last place where `text` may be cut in two so that both parts have the same pieces as the whole,
// whatever comes after it; 0 if there is none. Before a single space if there is one near by, where most other
// patterns may be cut too.
size_t last_safe_cut(std::string_view text);

// The largest place not above `limit` that does not fall into a UTF-8 character.
size_t character_cut(std::string_view text, size_t limit);

}  // namespace skein
