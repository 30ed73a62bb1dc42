#include "skein/convert/tokenizer_files.h"

#include <vector>

#include "skein/convert/huggingface_config.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"
#include "skein/text/export.h"
#include "skein/text/models/byte_alphabet.h"

namespace skein::convert {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kEndOfText[] = "<|endoftext|>";

// Of that name, among the files that other libraries read.
Json file_of(const text::Tokenizer& tokenizer, const std::string& name) {
  for (const auto& [known, text] : tokenizer_files(tokenizer))
    if (known == name) return Json::parse(text);
  SKEIN_CHECK(false);
}

// The spelling of our own first 256 ids: in byte-level BPE they are bytes in an order of their own.
// vocab: of the byte tokenizer, whose ids are the bytes.
std::vector<std::string> alphabet(const Json& vocab, bool by_byte) {
  std::vector<std::string> of_byte, made;
  for (const auto& item : vocab.items()) of_byte.push_back(item.key());
  for (const uint8_t byte : text::byte_of_id()) made.push_back(of_byte[byte]);
  return by_byte ? std::vector(of_byte.begin(), of_byte.begin() + made.size()) : made;
}

// The byte tokenizer's file with what ours has learnt.
Json own_tokenizer(const Json& own) {
  Json made = file_of(*text::byte_tokenizer(), "tokenizer.json");
  Json& model = made["model"];
  std::vector<std::string> spelt = alphabet(model["vocab"], !own.contains("merges"));
  Json vocab = Json::object();
  for (const auto& pair : own.value("merges", Json::array())) {
    const std::string &left = spelt.at(pair.at(0).get<size_t>()),
                      &right = spelt.at(pair.at(1).get<size_t>());
    model["merges"].push_back({left, right});
    spelt.push_back(left + right);
  }
  for (size_t id = 0; id < spelt.size(); ++id) vocab[spelt[id]] = id;
  vocab[kEndOfText] = spelt.size();
  model["vocab"] = std::move(vocab);
  made["added_tokens"][0]["id"] = spelt.size();
  made["pre_tokenizer"]["use_regex"] = made["decoder"]["use_regex"] = true;
  return made;
}

std::string with_inputs(Json config, bool types) {
  Json& inputs = config["model_input_names"] = {"input_ids"};
  if (types) inputs.push_back("token_type_ids");
  inputs.push_back("attention_mask");
  return config.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> tokenizer_files(const text::StoredTokenizer& tokenizer,
                                                   bool types) {
  if (tokenizer.empty()) return {};
  try {
    const text::Tokenizer& read = *tokenizer;  // refuses what is deep, and tokens that cannot be
    const Json json = Json::parse(tokenizer.text());
    if (json.contains("file"))  // of SentencePiece
      return {
          {"tokenizer.json", file_of(read, "tokenizer.json").dump()},
          {"tokenizer_config.json", with_inputs(file_of(read, "tokenizer_config.json"), types)}};
    if (json.contains("model"))
      return {
          {"tokenizer.json", tokenizer.text()},
          {"tokenizer_config.json", with_inputs(file_of(read, "tokenizer_config.json"), types)}};
    const Json whole = own_tokenizer(json);
    Json config{{"tokenizer_class", "PreTrainedTokenizerFast"},
                {"bos_token", kEndOfText},
                {"eos_token", kEndOfText},
                {"unk_token", kEndOfText}};
    Json end = whole["added_tokens"][0];
    const std::string id = end["id"].dump();
    end.erase("id");
    config["added_tokens_decoder"] = {{id, end}};
    return {{"tokenizer.json", whole.dump(1)},
            {"tokenizer_config.json", with_inputs(config, types)}};
  } catch (const std::exception& error) {
    fail_usage("the checkpoint's tokenizer cannot be written: {}", json_fault(error.what()));
  }
}

void put_chat_template(const std::string& jinja, std::map<std::string, std::string>& files) {
  std::erase_if(
      files, [](const auto& file) { return file.first.starts_with("additional_chat_templates/"); });
  files["chat_template.jinja"] = jinja;
  const auto config = files.find("tokenizer_config.json");
  if (config == files.end()) return;
  Json json = parse_strictly<Json>(config->second, "the tokenizer_config.json of the import",
                                   kMostConfigDepth);
  // Older releases of transformers keep it there.
  if (json.is_object() && json.erase("chat_template") > 0) config->second = json.dump(2) + "\n";
}

}  // namespace skein::convert
