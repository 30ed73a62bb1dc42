#include <utility>

#include "skein/core/error.h"
#include "skein/data/files/line_reader.h"
#include "skein/text/split/split.h"

#include "documents.h"

namespace skein::data {
namespace {

class TextDocuments final : public Documents {
 public:
  TextDocuments(std::unique_ptr<ByteSource> source, const CorpusOptions& options, bool guessed)
      : options_(options), lines_(std::move(source), options.piece_bytes), guessed_(guessed) {}

  bool next(CorpusPiece& piece) override {
    if (cut(piece)) return true;
    for (std::string_view line; lines_.next(line);) {
      check_guess(line);
      const Role role = role_of(line);
      if (role == Role::waiting) continue;
      if (role == Role::division) {
        if (hand_on(piece)) return true;
        continue;
      }
      const bool divided = divides_here() && hand_on(piece);
      absorb(line);
      if (divided || cut(piece)) return true;
    }
    return hand_on(piece);
  }

 private:
  // Text that is JSONL by mistake would be learnt as it is.
  void check_guess(std::string_view line) {
    require(!guessed_ || !line.starts_with("{\""),
            "stdin looks like JSONL, but its format was not given; add --data.format=jsonl, or "
            "--data.format=text if it is meant as plain text");
    guessed_ = false;
  }

  enum class Role { text, waiting, division };

  Role role_of(std::string_view line) {
    if (!lines_.begins_line()) return Role::text;
    if (!options_.document_separator.empty())
      return without_break(line) == options_.document_separator ? Role::division : Role::text;
    if (options_.blank_lines == 0 || !blank(line) || !lines_.ends_line()) return Role::text;
    if (++blanks_ < options_.blank_lines) {
      waiting_ += line;
      return Role::waiting;
    }
    waiting_.clear();
    return Role::division;
  }

  bool divides_here() {
    if (divided_ || options_.divide_at < 0 || !lines_.begins_line()) return false;
    divided_ = lines_.offset() >= options_.divide_at && !text_.empty();
    return divided_;
  }

  // Blank lines count as text once it is known that the document goes on after them.
  void absorb(std::string_view line) {
    if (!text_.empty()) text_ += waiting_;
    waiting_.clear();
    blanks_ = 0;
    text_ += line;
  }

  bool hand_on(CorpusPiece& piece) {
    if (text_.empty()) return false;
    piece.text = std::exchange(text_, {});
    piece.continues = false;
    return true;
  }

  bool cut(CorpusPiece& piece) {
    if (std::ssize(text_) <= options_.piece_bytes) return false;
    const size_t at = piece_cut(text_, options_);
    std::string rest = text_.substr(at);
    text_.resize(at);
    piece.text = std::exchange(text_, std::move(rest));
    piece.continues = true;
    return true;
  }

  CorpusOptions options_;
  LineReader lines_;
  bool guessed_;
  std::string text_;
  std::string waiting_;
  int64_t blanks_ = 0;
  bool divided_ = false;
};

}  // namespace

size_t piece_cut(std::string_view text, const CorpusOptions& options) {
  const size_t limit = options.piece_bytes;
  const std::string_view head = text.substr(0, limit);
  if (options.sentences != text::SentenceRule::none)
    if (const size_t end = last_sentence_end(head, options.sentences)) return end;
  const size_t at = text::last_safe_cut(head);
  return at > 0 ? at : text::character_cut(text, limit);
}

std::unique_ptr<Documents> text_documents(std::unique_ptr<ByteSource> source,
                                          const CorpusOptions& options, bool guessed) {
  return std::make_unique<TextDocuments>(std::move(source), options, guessed);
}

}  // namespace skein::data
