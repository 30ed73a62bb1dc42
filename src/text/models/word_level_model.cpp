#include "word_model.h"

namespace skein::text {
namespace {

class WordLevelModel final : public WordModel {
 public:
  WordLevelModel(Vocabulary vocabulary, const std::string& unk_token,
                 const std::vector<int32_t>& specials)
      : WordModel(std::move(vocabulary)), specials_(specials) {
    set_unknown(unk_token);
  }

  void encode(std::string_view word, std::vector<int32_t>& ids) const override {
    const int32_t id = vocabulary().find(word);
    ids.push_back(id < 0 || among(specials_, id) ? unknown() : id);
  }

  std::string piece_of(int32_t id) const override { return std::string(vocabulary().token(id)); }
  bool continues_word(int32_t) const override { return false; }

  std::string to_json() const override {
    return fmt::format(R"({{"type":"WordLevel","vocab":{},"unk_token":{}}})",
                       vocabulary_json(vocabulary()), json_string(vocabulary().token(unknown())));
  }

 private:
  std::vector<int32_t> specials_;
};

}  // namespace

std::unique_ptr<WordModel> word_level_model(Vocabulary vocabulary, const std::string& unk_token,
                                            const std::vector<int32_t>& specials) {
  return std::make_unique<WordLevelModel>(std::move(vocabulary), unk_token, specials);
}

}  // namespace skein::text
