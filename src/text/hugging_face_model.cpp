#include <algorithm>

#include "skein/core/error.h"

#include "hugging_face.h"

namespace skein::text {
namespace {

constexpr int64_t kMostReserved = 1 << 16;  // ids between the vocabulary and an added token

Vocabulary read_vocabulary(const Component& model) {
  const HuggingFaceJson& json = model.at("vocab");
  require(json.is_object(), "the vocabulary of {} must be an object of tokens and ids, not {}",
          model.where(), json.type_name());
  require(!json.empty(), "the vocabulary of {} is empty", model.where());
  std::vector<std::pair<int64_t, const std::string*>> entries;
  entries.reserve(json.size());
  for (auto item = json.begin(); item != json.end(); ++item) {
    const bool fits = item->is_number_unsigned() && item->get<uint64_t>() <= INT32_MAX;
    require(fits, "the token {} of the vocabulary has {} instead of an id",
            item.key().substr(0, 60), item->is_number() ? item->dump() : item->type_name());
    entries.emplace_back(item->get<int64_t>(), &item.key());
  }
  std::sort(entries.begin(), entries.end());
  Vocabulary vocabulary;
  for (const auto& [id, token] : entries) vocabulary.add(*token, id);
  return vocabulary;
}

std::pair<std::string, std::string> read_merge(const HuggingFaceJson& json, size_t rank) {
  if (json.is_array() && json.size() == 2 && json[0].is_string() && json[1].is_string())
    return {json[0].get<std::string>(), json[1].get<std::string>()};
  require(json.is_string(), "merge {} of the tokenizer must be a string or a pair of strings",
          rank);
  const auto& text = json.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  require(space != std::string::npos && space > 0 && space + 1 < text.size() &&
              text.find(' ', space + 1) == std::string::npos,
          "merge {} of the tokenizer must be two tokens with a space between them", rank);
  return {text.substr(0, space), text.substr(space + 1)};
}

TokenPairs read_merges(const Component& model) {
  const HuggingFaceJson& json = model.at("merges");
  require(json.is_array(), "\"merges\" of {} must be an array, not {}", model.where(),
          json.type_name());
  TokenPairs merges;
  merges.reserve(json.size());
  for (size_t rank = 0; rank < json.size(); ++rank) merges.push_back(read_merge(json[rank], rank));
  return merges;
}

void check_ids(const Vocabulary& vocabulary, const std::vector<AddedToken>& added) {
  const int64_t most = vocabulary.size() + kMostReserved;
  require(added.empty() || added.back().id <= most,
          "the added token {} has id {}, far above the {} ids of the model's vocabulary",
          added.empty() ? "" : added.back().content, added.empty() ? 0 : added.back().id,
          vocabulary.size());
  for (const AddedToken& token : added) {
    const int32_t id = vocabulary.find(token.content);
    require(id < 0 || id == token.id,
            "the added token {} has id {}, but {} in the model's vocabulary", token.content,
            token.id, id);
    require(id >= 0 || !vocabulary.has(token.id),
            "the added token {} has id {}, which is {} in the model's vocabulary", token.content,
            token.id, vocabulary.has(token.id) ? vocabulary.token(token.id) : "");
  }
}

std::vector<int32_t> special_ids(const std::vector<AddedToken>& added) {
  std::vector<int32_t> ids;
  for (const AddedToken& token : added)
    if (token.special) ids.push_back(token.id);
  return ids;
}

std::unique_ptr<WordModel> read_bpe(const Component& model, const std::vector<AddedToken>& added,
                                    bool byte_level) {
  model.only({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
              "byte_fallback", "ignore_merges", "vocab", "merges"});
  const HuggingFaceJson* dropout = model.find("dropout");
  if (dropout != nullptr && *dropout != 0)
    model.refuse("dropout", dropout->is_number() ? dropout->dump() : "?");
  const bool fallback = model.flag("byte_fallback", false);
  if (fallback && byte_level) model.refuse("byte_fallback", "true beside ByteLevel");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const std::string value = model.text(key, ""); !value.empty())
      model.refuse(key, value.substr(0, 20));
  BpeSettings settings{model.text("unk_token", ""), model.flag("fuse_unk", false),
                       model.flag("ignore_merges", false), fallback};
  Vocabulary vocabulary = read_vocabulary(model);
  check_ids(vocabulary, added);
  const auto make = byte_level ? byte_bpe_model : character_bpe_model;
  return make(std::move(vocabulary), read_merges(model), std::move(settings), special_ids(added));
}

std::unique_ptr<WordModel> read_unigram(const Component& model,
                                        const std::vector<AddedToken>& added) {
  model.only({"unk_id", "vocab", "byte_fallback"});
  const HuggingFaceJson& list = model.at("vocab");
  require(list.is_array(), "the vocabulary of {} must be an array of pieces and scores, not {}",
          model.where(), list.type_name());
  Vocabulary vocabulary;
  UnigramSettings settings;
  for (size_t id = 0; id < list.size(); ++id) {
    const HuggingFaceJson& entry = list[id];
    require(entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_number(),
            "entry {} of the vocabulary of {} must be a piece and its score", id, model.where());
    vocabulary.add(entry[0].get<std::string>(), static_cast<int64_t>(id));
    settings.scores.push_back(entry[1].get<double>());
  }
  const int64_t unknown = model.integer("unk_id", -1);
  require(unknown >= 0 && unknown < vocabulary.size(),
          "unk_id of {} of type Unigram is {}; it must be one of the vocabulary's {} ids, for text "
          "that no piece "
          "fits",
          model.where(), unknown, vocabulary.size());
  settings.unknown = static_cast<int32_t>(unknown);
  settings.byte_fallback = model.flag("byte_fallback", false);
  check_ids(vocabulary, added);
  return unigram_model(std::move(vocabulary), std::move(settings), special_ids(added));
}

std::unique_ptr<WordModel> read_word_level(const Component& model,
                                           const std::vector<AddedToken>& added) {
  model.only({"unk_token", "vocab"});
  Vocabulary vocabulary = read_vocabulary(model);
  check_ids(vocabulary, added);
  return word_level_model(std::move(vocabulary), model.text("unk_token", "<unk>"),
                          special_ids(added));
}

std::unique_ptr<WordModel> read_wordpiece(const Component& model,
                                          const std::vector<AddedToken>& added) {
  model.only({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
  WordPieceSettings settings{model.text("unk_token", "[UNK]"),
                             model.text("continuing_subword_prefix", "##"),
                             model.integer("max_input_chars_per_word", 100)};
  require(settings.most_characters >= 1 && settings.most_characters <= INT32_MAX,
          "max_input_chars_per_word of {} is {}; it must be 1 or more", model.where(),
          settings.most_characters);
  Vocabulary vocabulary = read_vocabulary(model);
  check_ids(vocabulary, added);
  return wordpiece_model(std::move(vocabulary), std::move(settings), special_ids(added));
}

}  // namespace

std::unique_ptr<WordModel> read_model(const HuggingFaceJson& json,
                                      const std::vector<AddedToken>& added, bool byte_level) {
  const bool merges = json.is_object() && json.contains("merges");
  const Component model(json, "the tokenizer's model", merges ? "BPE" : "");
  if (model.type() == "BPE") return read_bpe(model, added, byte_level);
  const bool known =
      model.type() == "WordPiece" || model.type() == "Unigram" || model.type() == "WordLevel";
  if (!known) model.refuse_type("BPE, WordPiece, Unigram and WordLevel");
  require(!byte_level, "the tokenizer's model is {}, but its pre_tokenizer is ByteLevel",
          model.type());
  if (model.type() == "WordPiece") return read_wordpiece(model, added);
  return model.type() == "Unigram" ? read_unigram(model, added) : read_word_level(model, added);
}

}  // namespace skein::text
