#include <algorithm>
#include <utility>

#include "skein/convert/tokenizer_files.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/text/export.h"
#include "skein/text/sentencepiece/model_file.h"
#include "skein/text/split/known_patterns.h"

#include "gguf.h"

namespace skein::convert {
namespace {

using Json = nlohmann::ordered_json;
using Type = text::SentencePieceModel::Type;  // whose numbers are llama.cpp's, too

constexpr char kAsIt[] = "a GGUF file cannot say how the tokenizer divides texts: ";

// One for each row of the model.
struct Tokens {
  std::vector<std::string> texts;
  std::vector<int32_t> types;

  explicit Tokens(size_t rows) : types(rows, static_cast<int32_t>(Type::unused)) {
    for (size_t id = 0; id < rows; ++id) texts.push_back(fmt::format("[gap{}]", id));
  }
  void put(size_t id, const std::string& text, Type type) {
    texts.at(id) = text;
    types.at(id) = static_cast<int32_t>(type);
  }
};

// How llama.cpp calls the way in which words are found.
struct Division {
  const char *pattern, *name;
  bool whole_words;  // words that are tokens are not merged: "ignore_merges"
};
constexpr Division kDivisions[] = {{text::kGpt2Pattern, "gpt-2", false},
                                   {text::kLlama3Pattern, "llama-bpe", true},
                                   {text::kLlama3Pattern, "smaug-bpe", false},
                                   {text::kQwen2Pattern, "qwen2", false},
                                   {text::kO200kPattern, "gpt-4o", false}};

// The regular expression of a pre-tokenizer over bytes; "" where it has none or another form.
std::string pattern_of(const Json& step) {
  if (step.value("type", "") == "ByteLevel")
    return step.value("use_regex", true) ? text::kGpt2Pattern : "";
  const Json steps = step.value("pretokenizers", Json::array());
  if (step.value("type", "") != "Sequence" || steps.size() != 2) return "";
  const Json &split = steps[0], &bytes = steps[1];
  const bool divides = split.value("type", "") == "Split" &&
                       bytes.value("type", "") == "ByteLevel" && !bytes.value("use_regex", true) &&
                       !split.value("invert", false) && split.value("behavior", "") == "Isolated";
  return divides ? split.at("pattern").value("Regex", "") : "";
}

bool adds_space(const Json& step) {
  if (step.value("add_prefix_space", false)) return true;
  const Json steps = step.value("pretokenizers", Json::array());
  return std::ranges::any_of(steps, adds_space);
}

const char* division_of(const Json& json) {
  const Json& step = json.at("pre_tokenizer");
  const bool whole_words = json.at("model").value("ignore_merges", false);
  require(!adds_space(step), "{}\"add_prefix_space\" of its pre_tokenizer is true", kAsIt);
  // Bytes alone are the same however they are divided.
  if (json.at("model").at("merges").empty()) return "gpt-2";
  const std::string pattern = pattern_of(step);
  for (const Division& known : kDivisions)
    if (pattern == known.pattern && whole_words == known.whole_words) return known.name;
  fail_usage(
      "{}its pre_tokenizer is {}, with \"ignore_merges\": {}; known are those of GPT-2, Llama 3, "
      "Qwen2 and GPT-4o",
      kAsIt, step.dump().substr(0, 400), whole_words);
}

void check_normalizer(const Json& json) {
  const Json normalizer = json.value("normalizer", Json());
  if (normalizer.is_null()) return;
  require(normalizer.value("type", "") == "NFC", "{}its normalizer is {}", kAsIt,
          normalizer.dump().substr(0, 400));
  log::warn("llama.cpp does not bring texts into Unicode's form NFC, as the tokenizer does");
}

formats::GgufValues byte_level(const Json& json, Tokens& tokens) {
  check_normalizer(json);
  const Json& model = json.at("model");
  for (const auto& item : model.at("vocab").items())
    tokens.put(item.value().get<size_t>(), item.key(), Type::normal);
  for (const Json& token : json.value("added_tokens", Json::array()))
    tokens.put(token.at("id").get<size_t>(), token.at("content"),
               token.value("special", false) ? Type::control : Type::user_defined);
  std::vector<std::string> merges;
  for (const Json& pair : model.at("merges"))
    merges.push_back(pair.is_string()
                         ? pair.get<std::string>()
                         : pair.at(0).get<std::string>() + " " + pair.at(1).get<std::string>());
  return {{"tokenizer.ggml.model", std::string("gpt2")},
          {"tokenizer.ggml.pre", std::string(division_of(json))},
          {"tokenizer.ggml.merges", std::move(merges)}};
}

formats::GgufValues pieces(const text::SentencePieceModel& model, Tokens& tokens) {
  const bool unigram = model.kind == text::SentencePieceModel::Kind::unigram;
  std::vector<float> scores;
  for (const auto& piece : model.pieces) {
    tokens.put(scores.size(), piece.text, piece.type);
    scores.push_back(piece.score);
  }
  require(model.escape_whitespaces, "{}it keeps spaces as they are", kAsIt);
  require(!unigram || !model.byte_fallback,
          "{}of Unigram, llama.cpp knows no byte_fallback: characters without a piece are unknown "
          "there",
          kAsIt);
  require(
      unigram || (model.byte_fallback && model.charsmap.empty() && !model.remove_extra_whitespaces),
      "{}of SentencePiece's BPE, llama.cpp knows models with byte_fallback that do not "
      "normalize texts",
      kAsIt);
  scores.resize(tokens.texts.size(), -1000);  // of rows that are no piece
  formats::GgufValues values{{"tokenizer.ggml.model", std::string(unigram ? "t5" : "llama")},
                             {"tokenizer.ggml.pre", std::string("default")},
                             {"tokenizer.ggml.scores", std::move(scores)},
                             {"tokenizer.ggml.add_space_prefix", model.add_dummy_prefix}};
  if (!unigram) return values;
  values.emplace_back("tokenizer.ggml.remove_extra_whitespaces", model.remove_extra_whitespaces);
  if (!model.charsmap.empty())
    values.emplace_back("tokenizer.ggml.precompiled_charsmap",
                        std::vector<uint8_t>(model.charsmap.begin(), model.charsmap.end()));
  return values;
}

// Where llama.cpp would take ids of its own for those that are not said, they are said.
void add_ids(const text::TokenRoles& roles, formats::GgufValues& values) {
  require(roles.eos >= 0,
          "{}it has no token that ends texts, for which llama.cpp then takes one of its own choice",
          kAsIt);
  const std::pair<const char*, int32_t> ids[] = {{"bos", roles.bos >= 0 ? roles.bos : roles.eos},
                                                 {"eos", roles.eos},
                                                 {"unknown", roles.unk},
                                                 {"padding", roles.pad}};
  for (const auto& [name, id] : ids)
    if (id >= 0)
      values.emplace_back(fmt::format("tokenizer.ggml.{}_token_id", name),
                          static_cast<uint32_t>(id));
}

// The bytes of a SentencePiece model that is the tokenizer; "" where there is none.
std::string piece_bytes(const text::Tokenizer& tokenizer) {
  for (const auto& [name, bytes] : text::tokenizer_files(tokenizer))
    if (name == "tokenizer.model") return bytes;
  return "";
}

bool has_bytes(const Json& json) {
  return json.at("model").value("type", "") == "BPE" &&
         json.at("pre_tokenizer").dump().find("ByteLevel") != std::string::npos;
}

}  // namespace

formats::GgufValues gguf_tokenizer(const text::StoredTokenizer& stored, int64_t rows, bool begins) {
  require(!stored.empty(),
          "a GGUF file holds its tokenizer, and the checkpoint has none; import the model with "
          "--tokenizer");
  const text::Tokenizer& tokenizer = *stored;
  require(tokenizer.vocab_size() <= rows,
          "the tokenizer has {} ids, but the model knows {}; a GGUF file needs as many tokens as "
          "rows: import the model with another --tokenizer",
          tokenizer.vocab_size(), rows);
  const auto files = tokenizer_files(stored, false);
  const Json json = Json::parse(files.at("tokenizer.json"));
  Tokens tokens(static_cast<size_t>(rows));
  formats::GgufValues values;
  if (has_bytes(json)) {
    values = byte_level(json, tokens);
  } else {
    const std::string bytes = piece_bytes(tokenizer);
    require(!bytes.empty(),
            "{}known are byte-level BPE and SentencePiece's models, and its model is {}; a "
            "tokenizer.model that divides alike can be given to an import as --tokenizer",
            kAsIt, json.at("model").value("type", "BPE"));
    values = pieces(text::read_sentencepiece(bytes, "the tokenizer"), tokens);
  }
  values.emplace_back("tokenizer.ggml.tokens", std::move(tokens.texts));
  values.emplace_back("tokenizer.ggml.token_type", std::move(tokens.types));
  const text::TokenRoles roles = tokenizer.roles();
  add_ids(roles, values);
  const auto framed = tokenizer.with_template({}).ids;
  const bool adds = begins && roles.bos >= 0 && !framed.empty() && framed.front() == roles.bos;
  values.emplace_back("tokenizer.ggml.add_bos_token", adds);
  values.emplace_back("tokenizer.ggml.add_eos_token", false);
  return values;
}

}  // namespace skein::convert
