#include "byte_pieces.h"

#include <charconv>

#include "skein/core/error.h"

namespace skein::text {

int byte_of_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece[5] != '>') return -1;
  int byte = -1;
  const char* const end = piece.data() + 5;
  return std::from_chars(piece.data() + 3, end, byte, 16).ptr == end ? byte : -1;
}

BytePieces::BytePieces(const Vocabulary& vocabulary) {
  for (size_t byte = 0; byte < ids_.size(); ++byte)
    ids_[byte] = vocabulary.find(fmt::format("<0x{:02X}>", byte));
}

bool BytePieces::append(std::string_view bytes, std::vector<int32_t>& ids) const {
  const size_t before = ids.size();
  for (const unsigned char byte : bytes) {
    if (ids_[byte] < 0) {
      ids.resize(before);
      return false;
    }
    ids.push_back(ids_[byte]);
  }
  return true;
}

}  // namespace skein::text
