#include "pieces.h"

#include <limits>
#include <queue>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "text/models/best_path.h"
#include "text/models/byte_pieces.h"
#include "text/models/byte_trie.h"

namespace skein::text {
namespace {

using Type = SentencePieceModel::Type;

Vocabulary vocabulary_of(const SentencePieceModel& model) {
  Vocabulary vocabulary;
  for (size_t id = 0; id < model.pieces.size(); ++id)
    vocabulary.add(model.pieces[id].text, static_cast<int64_t>(id));
  return vocabulary;
}

bool from_text(Type type) {
  return type == Type::normal || type == Type::user_defined || type == Type::unused;
}

// What both kinds have in common: unknown characters, and the form that is kept of the model.
class PieceModel : public WordModel {
 public:
  explicit PieceModel(SharedPieces model)
      : WordModel(vocabulary_of(*model)), model_(std::move(model)) {
    set_unknown(model_->pieces[model_->unknown].text);
    if (model_->byte_fallback) bytes_ = BytePieces(vocabulary());
  }

  std::string piece_of(int32_t id) const override { return std::string(vocabulary().token(id)); }
  bool continues_word(int32_t) const override { return false; }
  std::string to_json() const override { SKEIN_CHECK(false); }

 protected:
  const SentencePieceModel& model() const { return *model_; }

  // Unknown ones side by side become one.
  void append_unknown(std::string_view part, bool after_unknown, std::vector<int32_t>& ids) const {
    if (!bytes_.append(part, ids) && !after_unknown) ids.push_back(unknown());
  }

 private:
  SharedPieces model_;
  BytePieces bytes_;
};

class UnigramPieces final : public PieceModel {
 public:
  explicit UnigramPieces(SharedPieces shared) : PieceModel(std::move(shared)) {
    float least = std::numeric_limits<float>::max(), most = std::numeric_limits<float>::lowest();
    for (const SentencePieceModel::Piece& piece : model().pieces) {
      if (piece.type != Type::normal) continue;
      least = std::min(least, piece.score);
      most = std::max(most, piece.score);
    }
    std::vector<PieceTrie::Entry> entries;
    for (int32_t id = 0; id < std::ssize(model().pieces); ++id) {
      const SentencePieceModel::Piece& piece = model().pieces[id];
      const bool user = piece.type == Type::user_defined;
      // In floats, as all the sums are.
      const float whole = static_cast<float>(piece.text.size()) * most;
      pieces_.scores.push_back(user ? static_cast<float>(whole - 0.1) : piece.score);
      if (user || piece.type == Type::normal) entries.emplace_back(piece.text, id);
    }
    pieces_.trie = PieceTrie(std::move(entries));
    pieces_.unknown = least - 10.0F;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    std::vector<PathPiece> path;
    best_path<float>(pieces_, text, path);
    size_t begin = 0;
    bool after_unknown = false;
    for (const PathPiece& piece : path) {
      if (piece.id >= 0)
        ids.push_back(piece.id);
      else
        append_unknown(text.substr(begin, piece.end - begin), after_unknown, ids);
      after_unknown = piece.id < 0;
      begin = piece.end;
    }
  }

 private:
  ScoredPieces pieces_;
};

// Symbols side by side are merged while they spell a piece together, the highest score first, then
// the leftmost. What became an unused piece is taken apart again.
class Merging {
 public:
  struct Symbol {
    size_t begin, bytes;
    int32_t previous, next;
    bool frozen;  // by the user
  };

  Merging(std::string_view text, const Vocabulary& vocabulary, const SentencePieceModel& model)
      : text_(text), vocabulary_(vocabulary), model_(model) {}

  void add(size_t bytes, bool frozen) {
    const int32_t index = narrow<int32_t>(symbols_.size());
    const size_t begin = symbols_.empty() ? 0 : symbols_.back().begin + symbols_.back().bytes;
    if (index > 0) symbols_.back().next = index;
    symbols_.push_back({begin, bytes, index - 1, -1, frozen});
  }

  void merge() {
    for (int32_t i = 1; i < std::ssize(symbols_); ++i) offer(i - 1, i);
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      Symbol &left = symbols_[pair.left], &right = symbols_[pair.right];
      if (left.bytes == 0 || right.bytes == 0 || left.bytes + right.bytes != pair.bytes) continue;
      left.bytes = pair.bytes;
      right.bytes = 0;
      left.next = right.next;
      if (right.next >= 0) symbols_[right.next].previous = pair.left;
      offer(left.previous, pair.left);
      offer(pair.left, left.next);
    }
  }

  // Calls piece(text) for the result in order.
  template <class Piece>
  void for_each(Piece&& piece) const {
    for (int32_t i = symbols_.empty() ? -1 : 0; i >= 0; i = symbols_[i].next)
      take_apart(text_.substr(symbols_[i].begin, symbols_[i].bytes), piece);
  }

 private:
  struct Pair {
    float score;
    int32_t left, right;
    size_t bytes;
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  void offer(int32_t left, int32_t right) {
    if (left < 0 || right < 0 || symbols_[left].frozen || symbols_[right].frozen) return;
    const size_t bytes = symbols_[left].bytes + symbols_[right].bytes;
    const std::string_view whole = text_.substr(symbols_[left].begin, bytes);
    const int32_t id = vocabulary_.find(whole);
    if (id < 0) return;
    const Type type = model_.pieces[id].type;
    if (!from_text(type)) return;
    pairs_.push({model_.pieces[id].score, left, right, bytes});
    if (type == Type::unused) parts_[whole] = symbols_[left].bytes;
  }

  template <class Piece>
  void take_apart(std::string_view whole, Piece& piece) const {
    std::vector<std::string_view> left{whole};
    while (!left.empty()) {
      const std::string_view part = left.back();
      left.pop_back();
      const int32_t id = vocabulary_.find(part);
      const auto found = parts_.find(part);
      const bool unused = id >= 0 && model_.pieces[id].type == Type::unused;
      if (!unused || found == parts_.end()) {
        piece(part, id);
        continue;
      }
      left.push_back(part.substr(found->second));
      left.push_back(part.substr(0, found->second));
    }
  }

  std::string_view text_;
  const Vocabulary& vocabulary_;
  const SentencePieceModel& model_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> pairs_;
  std::unordered_map<std::string_view, size_t>
      parts_;  // of unused pieces, where the right one begins
};

class BpePieces final : public PieceModel {
 public:
  explicit BpePieces(SharedPieces shared) : PieceModel(std::move(shared)) {
    for (const SentencePieceModel::Piece& piece : model().pieces)
      if (piece.type == Type::user_defined) kept_.insert(piece.text, 0);
  }

  bool divides_at(std::string_view mark) const override {
    return mark_begins_tokens(vocabulary(), mark);
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    Merging merging(text, vocabulary(), model());
    for (size_t at = 0; at < text.size();) {
      const ByteTrie::Match match = kept_.longest(text.substr(at));
      const bool kept = match.value >= 0;
      const size_t bytes = kept ? match.bytes : character_at(text, at).bytes;
      merging.add(bytes, kept);
      at += bytes;
    }
    merging.merge();
    bool after_unknown = false;
    merging.for_each([&](std::string_view piece, int32_t id) {
      const bool is_unknown = id < 0 || !from_text(model().pieces[id].type);
      if (is_unknown)
        append_unknown(piece, after_unknown, ids);
      else
        ids.push_back(id);
      after_unknown = is_unknown;
    });
  }

 private:
  ByteTrie kept_;
};

}  // namespace

std::unique_ptr<WordModel> sentencepiece_unigram(SharedPieces model) {
  return std::make_unique<UnigramPieces>(std::move(model));
}

std::unique_ptr<WordModel> sentencepiece_bpe(SharedPieces model) {
  return std::make_unique<BpePieces>(std::move(model));
}

}  // namespace skein::text
