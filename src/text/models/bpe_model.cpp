#include <algorithm>
#include <array>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "byte_pieces.h"
#include "merge_table.h"
#include "spelling.h"
#include "text/split/unicode.h"
#include "word_model.h"

namespace skein::text {
namespace {

// Merges, whatever they are of.
class BpeModel : public WordModel {
 public:
  BpeModel(Vocabulary vocabulary, const TokenPairs& merges, BpeSettings settings,
           const std::vector<int32_t>& specials)
      : WordModel(std::move(vocabulary)), settings_(std::move(settings)) {
    if (!settings_.unk_token.empty()) set_unknown(settings_.unk_token);
    read_merges(merges, specials);
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    if (settings_.ignore_merges)
      if (const auto found = words_.find(word); found != words_.end())
        return ids.push_back(found->second);
    std::vector<int32_t> symbols;
    symbols.reserve(word.size());
    append_symbols(word, symbols);
    merger_.merge(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }

  bool continues_word(int32_t) const override { return false; }
  std::string to_json() const override;

 protected:
  // What is merged, before any merge.
  virtual void append_symbols(std::string_view word, std::vector<int32_t>& symbols) const = 0;
  const BpeSettings& settings() const { return settings_; }
  // Taken whole where merges are ignored.
  void add_word(std::string word, int32_t id) { words_.emplace(std::move(word), id); }

 private:
  int32_t part_of_merge(size_t rank, const std::string& token) const {
    const int32_t id = vocabulary().find(token);
    require(id >= 0, "merge {} of the tokenizer needs the token {}, which is not in its vocabulary",
            rank, token);
    return id;
  }

  // Of equal merges the last one counts, so they are taken from the end.
  void read_merges(const TokenPairs& merges, const std::vector<int32_t>& specials) {
    for (size_t rank = merges.size(); rank-- > 0;) {
      const auto& [left, right] = merges[rank];
      const std::pair<int32_t, int32_t> pair(part_of_merge(rank, left), part_of_merge(rank, right));
      const int32_t made = part_of_merge(rank, left + right);
      if (!among(specials, made)) merger_.add(pair.first, pair.second, narrow<int32_t>(rank), made);
      merges_.push_back(pair);
    }
    std::reverse(merges_.begin(), merges_.end());
  }

  BpeSettings settings_;
  PairMerger merger_;
  std::vector<std::pair<int32_t, int32_t>> merges_;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> words_;
};

class ByteBpeModel final : public BpeModel {
 public:
  ByteBpeModel(Vocabulary vocabulary, const TokenPairs& merges, BpeSettings settings,
               const std::vector<int32_t>& specials)
      : BpeModel(std::move(vocabulary), merges, std::move(settings), specials) {
    std::string character(1, '\0');
    for (int byte = 0; byte < 256; ++byte) {
      character[0] = byte;
      id_of_byte_[byte] = this->vocabulary().find(spelt(character));
    }
    if (!this->settings().ignore_merges) return;
    std::string bytes;
    for (int32_t id = 0; id < this->vocabulary().size(); ++id)
      if (this->vocabulary().has(id) && !among(specials, id) &&
          unspelt(this->vocabulary().token(id), bytes))
        add_word(bytes, id);
  }

  std::string piece_of(int32_t id) const override {
    std::string bytes;
    return unspelt(vocabulary().token(id), bytes) ? bytes : std::string(vocabulary().token(id));
  }

 private:
  void append_symbols(std::string_view word, std::vector<int32_t>& symbols) const override {
    bool after_unknown = false;
    for (const unsigned char byte : word) {
      const int32_t id = id_of_byte_[byte];
      const bool fused = id < 0 && after_unknown && settings().fuse_unk;
      after_unknown = id < 0;
      if (id >= 0)
        symbols.push_back(id);
      else if (unknown() >= 0 && !fused)
        symbols.push_back(unknown());
    }
  }

  std::array<int32_t, 256> id_of_byte_;
};

class CharacterBpeModel final : public BpeModel {
 public:
  CharacterBpeModel(Vocabulary vocabulary, const TokenPairs& merges, BpeSettings settings,
                    const std::vector<int32_t>& specials)
      : BpeModel(std::move(vocabulary), merges, std::move(settings), specials),
        specials_(specials) {
    if (this->settings().byte_fallback) bytes_ = BytePieces(this->vocabulary());
    if (!this->settings().ignore_merges) return;
    for (int32_t id = 0; id < this->vocabulary().size(); ++id)
      if (this->vocabulary().has(id) && !among(specials, id))
        add_word(std::string(this->vocabulary().token(id)), id);
  }

  std::string piece_of(int32_t id) const override { return std::string(vocabulary().token(id)); }

  bool divides_at(std::string_view mark) const override {
    return !settings().ignore_merges && mark_begins_tokens(vocabulary(), mark);
  }

 private:
  // An unknown character waits for the next one that is known, even when bytes of others go ahead
  // of it: the reference's order.
  void append_symbols(std::string_view word, std::vector<int32_t>& symbols) const override {
    bool waits = false;
    for (size_t at = 0; at < word.size();) {
      const std::string_view character = word.substr(at, character_at(word, at).bytes);
      at += character.size();
      const int32_t id = vocabulary().find(character);
      if (id >= 0 && !among(specials_, id)) {
        if (waits) symbols.push_back(unknown());
        waits = false;
        symbols.push_back(id);
      } else if (!bytes_.append(character, symbols) && unknown() >= 0) {
        if (waits && !settings().fuse_unk) symbols.push_back(unknown());
        waits = true;
      }
    }
    if (waits) symbols.push_back(unknown());
  }

  std::vector<int32_t> specials_;
  BytePieces bytes_;
};

std::string BpeModel::to_json() const {
  std::string json = fmt::format(
      R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":null,"end_of_word_suffix":null,)"
      R"("fuse_unk":{},"byte_fallback":{},"ignore_merges":{},"vocab":{},"merges":[)",
      settings_.unk_token.empty() ? "null" : json_string(settings_.unk_token), settings_.fuse_unk,
      settings_.byte_fallback, settings_.ignore_merges, vocabulary_json(vocabulary()));
  for (const auto& [left, right] : merges_)
    json += fmt::format("[{},{}],", json_string(vocabulary().token(left)),
                        json_string(vocabulary().token(right)));
  if (json.back() == ',') json.pop_back();
  return json + "]}";
}

}  // namespace

std::unique_ptr<WordModel> byte_bpe_model(Vocabulary vocabulary, const TokenPairs& merges,
                                          BpeSettings settings,
                                          const std::vector<int32_t>& specials) {
  return std::make_unique<ByteBpeModel>(std::move(vocabulary), merges, std::move(settings),
                                        specials);
}

std::unique_ptr<WordModel> character_bpe_model(Vocabulary vocabulary, const TokenPairs& merges,
                                               BpeSettings settings,
                                               const std::vector<int32_t>& specials) {
  return std::make_unique<CharacterBpeModel>(std::move(vocabulary), merges, std::move(settings),
                                             specials);
}

bool mark_begins_tokens(const Vocabulary& vocabulary, std::string_view mark) {
  if (vocabulary.find(mark) < 0) return false;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    const std::string_view token = vocabulary.token(id);
    size_t run = 0;  // the marks that it begins with
    while (token.substr(run).starts_with(mark)) run += mark.size();
    if (token.find(mark, run) != token.npos) return false;
  }
  return true;
}

}  // namespace skein::text
