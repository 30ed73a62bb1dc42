#include "skein/core/json.h"
#include "skein/rlhf/oracle/language.h"

namespace skein::rlhf::oracle {
namespace {

using Json = nlohmann::ordered_json;

Json special_token(const std::string& name, int32_t id) {
  return {{"id", id},        {"content", name},     {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

}  // namespace

// WordPiece whose pieces all begin words: with nothing marking what goes on with a word, a word
// that is a symbol is that symbol.
std::unique_ptr<text::Tokenizer> oracle_tokenizer(const OracleLanguage& language) {
  Json vocabulary = Json::object();
  for (size_t i = 0; i < language.alphabet.size(); ++i) vocabulary[language.alphabet[i]] = i;
  vocabulary[language.end] = language.end_id();
  vocabulary[language.separator] = language.separator_id();
  vocabulary[language.pad] = language.pad_id();
  Json json = {{"version", "1.0"},
               {"normalizer", nullptr},
               {"pre_tokenizer", {{"type", "WhitespaceSplit"}}}};
  json["added_tokens"] = Json::array({special_token(language.end, language.end_id()),
                                      special_token(language.separator, language.separator_id()),
                                      special_token(language.pad, language.pad_id())});
  json["model"] = {{"type", "WordPiece"},
                   {"unk_token", language.pad},
                   {"continuing_subword_prefix", ""},
                   {"max_input_chars_per_word", 100},
                   {"vocab", vocabulary}};
  return text::tokenizer_from_json(json.dump());
}

}  // namespace skein::rlhf::oracle
