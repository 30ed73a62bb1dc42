#include <optional>

#include "pieces.h"
#include "text/models/byte_trie.h"
#include "text/split/charsmap.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

class SentencePieceRewriter final : public Rewriter {
 public:
  SentencePieceRewriter(SharedPieces model, const std::string& where) : model_(std::move(model)) {
    if (!model_->charsmap.empty()) map_.emplace(model_->charsmap, where);
    for (const SentencePieceModel::Piece& piece : model_->pieces)
      if (piece.type == SentencePieceModel::Type::user_defined) kept_.insert(piece.text, 0);
  }

  std::string rewritten(std::string_view text) const override {
    return written(past_spaces(text), model_->add_dummy_prefix, model_->remove_extra_whitespaces);
  }
  std::string rewritten_within(std::string_view text, bool /*space_gone*/) const override {
    const std::string_view rest = past_spaces(text);
    const bool spaced = rest.size() < text.size();
    return written(rest, spaced, spaced);
  }

  bool keeps_start(std::string_view) const override { return true; }

 private:
  struct Prefix {
    size_t bytes;
    std::string_view made;
  };

  // Without the spaces that are removed at the beginning.
  std::string_view past_spaces(std::string_view text) const {
    while (model_->remove_extra_whitespaces && !text.empty()) {
      const Prefix prefix = next(text);
      if (prefix.made != " ") break;
      text.remove_prefix(prefix.bytes);
    }
    return text;
  }

  // after_space: whether further spaces at the beginning of `text` are removed.
  std::string written(std::string_view text, bool space_before, bool after_space) const {
    const bool tidy = model_->remove_extra_whitespaces;
    const std::string_view space = model_->escape_whitespaces ? kSpaceMark : " ";
    std::string out;
    if (text.empty()) return out;
    out.reserve(text.size() + text.size() / 2);
    if (space_before) out = space;
    while (!text.empty()) {
      const Prefix prefix = next(text);
      std::string_view made = prefix.made;
      while (after_space && made.starts_with(' ')) made.remove_prefix(1);
      for (const char byte : made)
        if (byte == ' ')
          out += space;
        else
          out += byte;
      if (!made.empty()) after_space = tidy && made.ends_with(' ');
      text.remove_prefix(prefix.bytes);
    }
    while (tidy && out.ends_with(space)) out.resize(out.size() - space.size());
    return out;
  }

  Prefix next(std::string_view text) const {
    if (const ByteTrie::Match match = kept_.longest(text); match.value >= 0)
      return {match.bytes, text.substr(0, match.bytes)};
    if (map_) {
      const Charsmap::Match match = map_->longest(text);
      if (match.bytes > 0) return {match.bytes, match.made};
    }
    const Character first = character_at(text, 0);
    return {first.bytes, first.point < 0 ? kReplacementCharacter : text.substr(0, first.bytes)};
  }

  SharedPieces model_;
  std::optional<Charsmap> map_;
  ByteTrie kept_;  // what the user defined, which nothing changes
};

}  // namespace

std::shared_ptr<const Rewriter> sentencepiece_rewriter(SharedPieces model,
                                                       const std::string& where) {
  return std::make_shared<SentencePieceRewriter>(std::move(model), where);
}

}  // namespace skein::text
