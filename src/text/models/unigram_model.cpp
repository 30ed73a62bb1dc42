#include <limits>

#include "skein/core/json.h"

#include "best_path.h"
#include "byte_pieces.h"
#include "word_model.h"

namespace skein::text {
namespace {

class UnigramModel final : public WordModel {
 public:
  UnigramModel(Vocabulary vocabulary, UnigramSettings settings,
               const std::vector<int32_t>& specials)
      : WordModel(std::move(vocabulary)), settings_(std::move(settings)), specials_(specials) {
    set_unknown(std::string(this->vocabulary().token(settings_.unknown)));
    if (settings_.byte_fallback) bytes_ = BytePieces(this->vocabulary());
    double least = std::numeric_limits<double>::infinity();
    for (const double score : settings_.scores) least = std::min(least, score);
    std::vector<PieceTrie::Entry> entries;
    for (int32_t id = 0; id < this->vocabulary().size(); ++id)
      if (!among(specials_, id)) entries.emplace_back(this->vocabulary().token(id), id);
    pieces_ = {PieceTrie(std::move(entries)), settings_.scores, least - kUnknownPenalty};
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    std::vector<PathPiece> path;
    best_path<double>(pieces_, word, path);
    size_t begin = 0, unknown_begin = 0;
    bool after_unknown = false;
    for (const PathPiece& piece : path) {
      const bool is_unknown = piece.id < 0 || piece.id == unknown();
      if (is_unknown && !after_unknown) unknown_begin = begin;
      if (!is_unknown && after_unknown)
        encode_unknown(word.substr(unknown_begin, begin - unknown_begin), ids);
      if (!is_unknown) ids.push_back(piece.id);
      after_unknown = is_unknown;
      begin = piece.end;
    }
    if (after_unknown) encode_unknown(word.substr(unknown_begin), ids);
  }

  std::string piece_of(int32_t id) const override { return std::string(vocabulary().token(id)); }
  bool continues_word(int32_t) const override { return false; }

  std::string to_json() const override {
    std::string json =
        fmt::format(R"({{"type":"Unigram","unk_id":{},"vocab":[)", settings_.unknown);
    for (int32_t id = 0; id < vocabulary().size(); ++id)
      json += fmt::format("[{},{}],", json_string(vocabulary().token(id)),
                          nlohmann::json(settings_.scores[id]).dump());
    json.pop_back();
    return json + fmt::format(R"(],"byte_fallback":{}}})", settings_.byte_fallback);
  }

 private:
  // Unknown characters side by side are one; what they spell together may be known after all.
  void encode_unknown(std::string_view run, std::vector<int32_t>& ids) const {
    const int32_t known = vocabulary().find(run);
    if (known >= 0 && !among(specials_, known)) return ids.push_back(known);
    if (!bytes_.append(run, ids)) ids.push_back(unknown());
  }

  UnigramSettings settings_;
  std::vector<int32_t> specials_;
  ScoredPieces pieces_;
  BytePieces bytes_;
};

}  // namespace

std::unique_ptr<WordModel> unigram_model(Vocabulary vocabulary, UnigramSettings settings,
                                         const std::vector<int32_t>& specials) {
  return std::make_unique<UnigramModel>(std::move(vocabulary), std::move(settings), specials);
}

}  // namespace skein::text
