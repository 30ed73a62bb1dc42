#include "skein/text/export.h"

#include <array>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/json.h"

#include "sentencepiece_tokenizer.h"
#include "text/models/spelling.h"
#include "text/models/word_model.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
constexpr const char* kEndOfTextToken = "<|endoftext|>";

// The tokens of an own tokenizer by id, end-of-text being the last.
std::vector<std::string> spelt_tokens(const Tokenizer& tokenizer) {
  std::vector<std::string> tokens;
  std::unordered_map<std::string, int32_t> ids;
  for (int32_t id = 0; id < tokenizer.end_of_text(); ++id) {
    tokens.push_back(spelt(tokenizer.bytes_of(id)));
    const auto [other, fresh] = ids.emplace(tokens.back(), id);
    require(fresh,
            "the ids {} and {} of the tokenizer are both {}, which other libraries cannot express",
            other->second, id, tokens.back());
  }
  tokens.push_back(kEndOfTextToken);
  return tokens;
}

std::string own_head(bool divides) {
  const Json bytes = {{"type", "ByteLevel"},
                      {"add_prefix_space", false},
                      {"trim_offsets", true},
                      {"use_regex", divides}};
  return bytes.dump();
}

// An own tokenizer as a tokenizer.json.
std::string own_json(const Tokenizer& tokenizer) {
  const Json own = Json::parse(tokenizer.to_json());
  const bool divides = own.contains("merges");
  const auto tokens = spelt_tokens(tokenizer);
  std::string vocabulary, merges;
  for (size_t id = 0; id < tokens.size(); ++id)
    vocabulary += fmt::format("{}{}:{}", id > 0 ? "," : "", json_string(tokens[id]), id);
  for (const auto& pair : own.value("merges", Json::array()))
    merges += fmt::format("{}[{},{}]", merges.empty() ? "" : ",",
                          json_string(tokens[pair[0].get<size_t>()]),
                          json_string(tokens[pair[1].get<size_t>()]));
  return fmt::format(
      R"({{"version":"1.0","added_tokens":[{{"id":{},"content":"{}","special":true,"normalized":false}}],)"
      R"("pre_tokenizer":{},"decoder":{},"model":{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}}})",
      tokenizer.end_of_text(), kEndOfTextToken, own_head(divides), own_head(divides), vocabulary,
      merges);
}

bool is_own(const std::string& json) { return json.starts_with(R"({"type":)"); }

bool is_sentencepiece(const std::string& json) {
  return is_own(json) && Json::parse(json).at("type") == "sentencepiece";
}

// Whether the vocabulary is spelt in GPT-2's alphabet, as vocab.json and merges.txt are.
bool spells_bytes(const Json& full) {
  const std::string steps = full.at("pre_tokenizer").dump();
  return steps.find(R"("type":"ByteLevel")") != steps.npos;
}

std::string text_of(const Tokenizer& tokenizer, int32_t id) {
  for (const auto& [text, special] : tokenizer.special_tokens())
    if (special == id) return text;
  return "";
}

Json roles_json(const Tokenizer& tokenizer) {
  const TokenRoles roles = tokenizer.roles();
  const std::array<std::pair<const char*, int32_t>, 7> named = {{{"bos_token", roles.bos},
                                                                 {"eos_token", roles.eos},
                                                                 {"unk_token", roles.unk},
                                                                 {"sep_token", roles.sep},
                                                                 {"pad_token", roles.pad},
                                                                 {"cls_token", roles.cls},
                                                                 {"mask_token", roles.mask}}};
  Json json = Json::object();
  for (const auto& [name, id] : named)
    if (const std::string text = text_of(tokenizer, id); !text.empty()) json[name] = text;
  return json;
}

Json config_json(const Tokenizer& tokenizer, const Json& full) {
  Json json = roles_json(tokenizer);
  json["tokenizer_class"] = "PreTrainedTokenizerFast";
  json["clean_up_tokenization_spaces"] = false;
  for (const Json& token : full.at("added_tokens")) {
    Json& entry = json["added_tokens_decoder"][std::to_string(token.at("id").get<int64_t>())] = {
        {"content", token.at("content")}};
    for (const char* key : {"lstrip", "normalized", "rstrip", "single_word", "special"})
      entry[key] = token.value(key, false);
  }
  const Json& normalizer = full.at("normalizer");
  if (normalizer.is_object() && normalizer.contains("lowercase"))
    json["do_lower_case"] = normalizer["lowercase"];
  const Json& split = full.at("pre_tokenizer");
  if (split.is_object() && split.contains("add_prefix_space"))
    json["add_prefix_space"] = split["add_prefix_space"];
  return json;
}

// vocab.txt has no gaps: a line without a token holds a name that nothing is encoded as.
std::string vocabulary_lines(const Json& vocabulary) {
  std::vector<std::string> tokens;
  for (const auto& item : vocabulary.items()) {
    const auto id = item.value().get<size_t>();
    if (tokens.size() <= id) tokens.resize(id + 1);
    tokens[id] = item.key();
  }
  for (size_t id = 0; id < tokens.size(); ++id)
    if (tokens[id].empty()) tokens[id] = fmt::format("[gap{}]", id);
  return fmt::format("{}\n", fmt::join(tokens, "\n"));
}

std::string merge_lines(const Json& merges) {
  std::string lines = "#version: 0.2\n";
  for (const Json& pair : merges)
    lines +=
        pair[0].get_ref<const std::string&>() + " " + pair[1].get_ref<const std::string&>() + "\n";
  return lines;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> tokenizer_files(const Tokenizer& tokenizer) {
  std::string json = tokenizer.to_json(), pieces;
  if (is_sentencepiece(json)) {
    const Json own = Json::parse(json);
    pieces = sentencepiece_file(own);
    json = tokenizer_from_json(hugging_face_form(own).dump())->to_json();
  } else if (is_own(json)) {
    json = tokenizer_from_json(own_json(tokenizer))->to_json();
  }
  const Json full = Json::parse(json);
  if (pieces.empty()) pieces = written_pieces(full);
  const Json& model = full.at("model");
  std::vector<std::pair<std::string, std::string>> files = {
      {"tokenizer.json", json + "\n"},
      {"tokenizer_config.json", config_json(tokenizer, full).dump(2) + "\n"},
      {"special_tokens_map.json", roles_json(tokenizer).dump(2) + "\n"}};
  if (!pieces.empty()) {
    files.emplace_back("tokenizer.model", pieces);
  } else if (model.at("type") == "BPE" && spells_bytes(full)) {
    files.emplace_back("vocab.json", model.at("vocab").dump() + "\n");
    files.emplace_back("merges.txt", merge_lines(model.at("merges")));
  } else if (model.at("type") == "WordPiece") {
    files.emplace_back("vocab.txt", vocabulary_lines(model.at("vocab")));
  }
  return files;
}

}  // namespace skein::text
