// The pieces "<0x00>" to "<0xFF>", which stand for bytes that no other piece has.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "vocabulary.h"

namespace skein::text {

// The byte of such a piece, -1 for any other.
int byte_of_piece(std::string_view piece);

class BytePieces {
 public:
  BytePieces() { ids_.fill(-1); }
  explicit BytePieces(const Vocabulary& vocabulary);

  // Appends the ids of the bytes; false, without effect, when one has none.
  bool append(std::string_view bytes, std::vector<int32_t>& ids) const;

 private:
  std::array<int32_t, 256> ids_;
};

}  // namespace skein::text
