#include "byte_trie.h"
#include "text/split/unicode.h"
#include "word_model.h"

namespace skein::text {
namespace {

class WordPieceModel final : public WordModel {
 public:
  WordPieceModel(Vocabulary vocabulary, WordPieceSettings settings,
                 const std::vector<int32_t>& specials)
      : WordModel(std::move(vocabulary)), settings_(std::move(settings)) {
    set_unknown(settings_.unk_token);
    for (int32_t id = 0; id < this->vocabulary().size(); ++id)
      if (this->vocabulary().has(id) && !among(specials, id))
        trie_.insert(this->vocabulary().token(id), id);
    continuation_ = trie_.walk(settings_.prefix);
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    const size_t before = ids.size();
    bool known = !too_long(word);
    for (size_t at = 0; known && at < word.size();) {
      const int32_t from = at == 0 ? ByteTrie::kRoot : continuation_;
      const ByteTrie::Match match =
          from < 0 ? ByteTrie::Match() : trie_.longest(word.substr(at), from);
      known = match.value >= 0;
      if (known) ids.push_back(match.value);
      at += match.bytes;
    }
    if (known) return;
    ids.resize(before);
    ids.push_back(unknown());
  }

  std::string piece_of(int32_t id) const override {
    return std::string(
        vocabulary().token(id).substr(continues_word(id) ? settings_.prefix.size() : 0));
  }

  bool continues_word(int32_t id) const override {
    return !settings_.prefix.empty() && vocabulary().token(id).starts_with(settings_.prefix);
  }

  bool joins_words() const override { return true; }

  std::string to_json() const override {
    return fmt::format(R"({{"type":"WordPiece","unk_token":{},"continuing_subword_prefix":{},)"
                       R"("max_input_chars_per_word":{},"vocab":{}}})",
                       json_string(settings_.unk_token), json_string(settings_.prefix),
                       settings_.most_characters, vocabulary_json(vocabulary()));
  }

 private:
  bool too_long(std::string_view word) const {
    const size_t most = settings_.most_characters;
    if (word.size() <= most) return false;
    size_t characters = 0;
    for (size_t at = 0; at < word.size() && characters <= most; ++characters)
      at += character_at(word, at).bytes;
    return characters > most;
  }

  WordPieceSettings settings_;
  ByteTrie trie_;
  int32_t continuation_ = -1;  // the node that the prefix leads to
};

}  // namespace

std::unique_ptr<WordModel> wordpiece_model(Vocabulary vocabulary, WordPieceSettings settings,
                                           const std::vector<int32_t>& specials) {
  return std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(settings), specials);
}

}  // namespace skein::text
