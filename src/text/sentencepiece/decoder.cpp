#include <unordered_map>

#include "skein/core/strings.h"

#include "pieces.h"
#include "text/models/byte_pieces.h"
#include "text/split/rewriters.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

using Type = SentencePieceModel::Type;

// Whole characters of the bytes, and U+FFFD for each byte that is part of none.
void append_bytes(std::string& bytes, std::string& text) {
  for (size_t at = 0; at < bytes.size();) {
    const Character next = character_at(bytes, at);
    text.append(next.point < 0 ? kReplacementCharacter
                               : std::string_view(bytes).substr(at, next.bytes));
    at += next.bytes;
  }
  bytes.clear();
}

class SentencePieceDecoder final : public TokenDecoder {
 public:
  explicit SentencePieceDecoder(SharedPieces model) : model_(std::move(model)) {
    for (const SentencePieceModel::Piece& piece : model_->pieces)
      if (piece.type != Type::normal) types_.emplace(piece.text, piece.type);
  }

  // The space before the first word is dropped: once, or before all pieces that come to nothing.
  std::string decode(std::vector<std::string> tokens) const override {
    const bool tidy = model_->remove_extra_whitespaces;
    bool at_start = tidy || model_->add_dummy_prefix, dropped = false;
    std::string text, bytes;
    for (const std::string& token : tokens) {
      const Type type = type_of(token);
      if (type == Type::byte) {
        bytes.push_back(static_cast<char>(byte_of_piece(token)));
        continue;
      }
      append_bytes(bytes, text);
      at_start = at_start && !dropped && text.empty();
      dropped = false;
      std::string_view piece = token;
      if (type == Type::unknown) piece = model_->unknown_surface;
      const bool spelt = type != Type::unknown && type != Type::control;
      if (spelt && at_start && piece.starts_with(kSpaceMark)) {
        piece.remove_prefix(std::string_view(kSpaceMark).size());
        dropped = !tidy;
      }
      text += spelt ? replaced(piece, kSpaceMark, " ") : std::string(piece);
    }
    append_bytes(bytes, text);
    return text;
  }

  bool joins_bytes() const override { return model_->byte_fallback; }

 private:
  Type type_of(std::string_view token) const {
    const auto found = types_.find(token);
    return found == types_.end() ? Type::normal : found->second;
  }

  SharedPieces model_;
  std::unordered_map<std::string, Type, TextHash, std::equal_to<>> types_;
};

}  // namespace

std::shared_ptr<const TokenDecoder> sentencepiece_decoder(SharedPieces model) {
  return std::make_shared<SentencePieceDecoder>(std::move(model));
}

}  // namespace skein::text
