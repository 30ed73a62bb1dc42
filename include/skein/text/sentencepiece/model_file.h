// A `.model` file of SentencePiece: the fields of its messages that say how text becomes ids.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace skein::text {

struct SentencePieceModel {
  enum class Kind { unigram = 1, bpe = 2 };
  enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
  struct Piece {
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };

  std::vector<Piece> pieces;  // by id
  Kind kind = Kind::unigram;
  bool byte_fallback = false;
  std::string unknown_surface = " \u2047 ";  // what the unknown piece is decoded as
  std::string charsmap;                      // as Charsmap reads it; "": characters stay
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;

  // The ids of the special pieces, -1 where there is none.
  int32_t unknown = -1, begin = -1, end = -1, pad = -1;
};

// A usage error naming `where` for bytes that are no such file, and for what is not supported:
// models of words or characters, spaces behind words, rules for decoding. Costs no more memory than
// the bytes justify.
SentencePieceModel read_sentencepiece(std::string_view bytes, const std::string& where);

// The bytes of a file that says all that and nothing else.
std::string written_sentencepiece(const SentencePieceModel& model);

}  // namespace skein::text
