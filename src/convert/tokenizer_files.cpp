#include "skein/convert/tokenizer_files.h"

#include <vector>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"
#include "skein/text/byte_alphabet.h"
#include "skein/text/export.h"

namespace skein {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kEndOfText[] = "<|endoftext|>";

std::string utf8(int32_t code) {
  if (code < 0x80) return {static_cast<char>(code)};
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// GPT-2's spelling of its first 256 ids: bytes that can be printed are themselves, the others
// U+0100 and on. The byte tokenizer's ids are the bytes.
std::vector<std::string> alphabet(bool by_byte) {
  std::vector<std::string> spelt(256);
  const auto bytes = byte_of_id();
  int32_t next = 256;
  for (size_t id = 0; id < bytes.size(); ++id)
    spelt[by_byte ? bytes[id] : id] = utf8(gpt2_printable(bytes[id]) ? bytes[id] : next++);
  return spelt;
}

Json bpe_model(const Json& own, int64_t& vocab_size) {
  const Json pairs = own.value("merges", Json::array());
  std::vector<std::string> spelt = alphabet(!own.contains("merges"));
  Json vocab = Json::object(), merges = Json::array();
  for (const auto& pair : pairs) {
    const std::string &left = spelt.at(pair.at(0).get<size_t>()),
                      &right = spelt.at(pair.at(1).get<size_t>());
    merges.push_back({left, right});
    spelt.push_back(left + right);
  }
  for (size_t id = 0; id < spelt.size(); ++id) vocab[spelt[id]] = id;
  vocab_size = std::ssize(spelt);
  vocab[kEndOfText] = vocab_size;
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", false},
          {"byte_fallback", false},
          {"ignore_merges", false},
          {"vocab", vocab},
          {"merges", merges}};
}

Json own_tokenizer(const Json& own) {
  int64_t end = 0;
  const Json model = bpe_model(own, end);
  const Json byte_level{{"type", "ByteLevel"},
                        {"add_prefix_space", false},
                        {"trim_offsets", true},
                        {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", Json::array({{{"id", end},
                                         {"content", kEndOfText},
                                         {"single_word", false},
                                         {"lstrip", false},
                                         {"rstrip", false},
                                         {"normalized", false},
                                         {"special", true}}})},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model", model}};
}

Json config_of(const Tokenizer& tokenizer) {
  for (auto& [name, text] : tokenizer_files(tokenizer))
    if (name == "tokenizer_config.json") return Json::parse(text);
  SKEIN_CHECK(false);
}

std::string with_inputs(Json config, bool types) {
  Json& inputs = config["model_input_names"] = {"input_ids"};
  if (types) inputs.push_back("token_type_ids");
  inputs.push_back("attention_mask");
  return config.dump(2) + "\n";
}

}  // namespace

std::map<std::string, std::string> tokenizer_files(const StoredTokenizer& tokenizer, bool types) {
  if (tokenizer.empty()) return {};
  try {
    const Tokenizer& read = *tokenizer;  // refuses what is deep, and tokens that cannot be
    const Json json = Json::parse(tokenizer.text());
    if (json.contains("model"))
      return {{"tokenizer.json", tokenizer.text()},
              {"tokenizer_config.json", with_inputs(config_of(read), types)}};
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

}  // namespace skein
