#include <algorithm>
#include <array>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "merge_table.h"
#include "spelling.h"
#include "word_model.h"

namespace skein::text {
namespace {

class ByteBpeModel final : public WordModel {
 public:
  ByteBpeModel(Vocabulary vocabulary, const TokenPairs& merges, ByteBpeSettings settings,
               const std::vector<int32_t>& specials)
      : WordModel(std::move(vocabulary)), settings_(std::move(settings)) {
    std::string character(1, '\0');
    for (int byte = 0; byte < 256; ++byte) {
      character[0] = byte;
      id_of_byte_[byte] = this->vocabulary().find(spelt(character));
    }
    if (!settings_.unk_token.empty()) set_unknown(settings_.unk_token);
    read_merges(merges, specials);
    if (settings_.ignore_merges) collect_words(specials);
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    if (settings_.ignore_merges)
      if (const auto found = words_.find(word); found != words_.end())
        return ids.push_back(found->second);
    std::vector<int32_t> symbols;
    symbols.reserve(word.size());
    bool after_unknown = false;
    for (const unsigned char byte : word) {
      const int32_t id = id_of_byte_[byte];
      const bool fused = id < 0 && after_unknown && settings_.fuse_unk;
      after_unknown = id < 0;
      if (id >= 0)
        symbols.push_back(id);
      else if (unknown() >= 0 && !fused)
        symbols.push_back(unknown());
    }
    merger_.merge(symbols);
    ids.insert(ids.end(), symbols.begin(), symbols.end());
  }

  std::string piece_of(int32_t id) const override {
    std::string bytes;
    return unspelt(vocabulary().token(id), bytes) ? bytes : std::string(vocabulary().token(id));
  }

  bool continues_word(int32_t) const override { return false; }
  std::string to_json() const override;

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

  void collect_words(const std::vector<int32_t>& specials) {
    std::string bytes;
    for (int32_t id = 0; id < vocabulary().size(); ++id)
      if (vocabulary().has(id) && !among(specials, id) && unspelt(vocabulary().token(id), bytes))
        words_.emplace(bytes, id);
  }

  ByteBpeSettings settings_;
  std::array<int32_t, 256> id_of_byte_;
  PairMerger merger_;
  std::vector<std::pair<int32_t, int32_t>> merges_;
  std::unordered_map<std::string, int32_t, TextHash, std::equal_to<>> words_;
};

std::string ByteBpeModel::to_json() const {
  std::string json = fmt::format(
      R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":null,"end_of_word_suffix":null,)"
      R"("fuse_unk":{},"byte_fallback":false,"ignore_merges":{},"vocab":{},"merges":[)",
      settings_.unk_token.empty() ? "null" : json_string(settings_.unk_token), settings_.fuse_unk,
      settings_.ignore_merges, vocabulary_json(vocabulary()));
  for (const auto& [left, right] : merges_)
    json += fmt::format("[{},{}],", json_string(vocabulary().token(left)),
                        json_string(vocabulary().token(right)));
  if (json.back() == ',') json.pop_back();
  return json + "]}";
}

}  // namespace

std::unique_ptr<WordModel> byte_bpe_model(Vocabulary vocabulary, const TokenPairs& merges,
                                          ByteBpeSettings settings,
                                          const std::vector<int32_t>& specials) {
  return std::make_unique<ByteBpeModel>(std::move(vocabulary), merges, std::move(settings),
                                        specials);
}

}  // namespace skein::text
