#include "sentencepiece_tokenizer.h"

#include <algorithm>

#include "skein/core/base64.h"
#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strict_json.h"

#include "imported_tokenizer.h"
#include "text/sentencepiece/pieces.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Type = SentencePieceModel::Type;

constexpr const char* kWhere = "the SentencePiece model";
constexpr size_t kMostExtra = size_t{1} << 16;

// The ids, and which of them are special.
struct Numbering {
  Vocabulary vocabulary;
  std::vector<AddedToken> specials;

  void add(const std::string& token, bool special) {
    const int32_t id = vocabulary.size();
    vocabulary.add(token, id);
    if (special) specials.push_back({.id = id, .content = token, .special = true});
  }
  int32_t special(const char* name, const std::string& where) const {
    for (const AddedToken& token : specials)
      if (token.content == name) return token.id;
    fail_usage("{} has no {} to put around samples", where, name);
  }
};

bool names_language(const std::string& token) {
  return token.size() > 4 && token.starts_with(">>") && token.ends_with("<<");
}

Numbering numbering_of(const SentencePieceModel& model, const SentencePieceUse& use,
                       const std::string& where) {
  require(use.extra.size() <= kMostExtra, "{} extra tokens for {} are too many; {} is the most",
          use.extra.size(), where, kMostExtra);
  require(use.extra.empty() || use.vocabulary.empty(), "{} has extra tokens and ids of its own",
          where);
  Numbering made;
  for (size_t id = 0; id < use.vocabulary.size(); ++id) {
    const std::string& token = use.vocabulary[id];
    const bool special = token == "</s>" || token == "<pad>" || names_language(token);
    made.vocabulary.add(token, static_cast<int64_t>(id));
    if (special)
      made.specials.push_back({.id = narrow<int32_t>(id), .content = token, .special = true});
  }
  if (!use.vocabulary.empty()) return made;
  for (const SentencePieceModel::Piece& piece : model.pieces)
    made.add(piece.text, piece.type == Type::control);
  for (const std::string& token : use.extra) {
    require(!token.empty(), "an extra token of {} is empty", where);
    made.add(token, true);
  }
  return made;
}

Template frame_of(int32_t begin, int32_t end, bool pair) {
  using Kind = TemplateItem::Kind;
  Template items;
  if (begin < 0 && end < 0) return items;
  for (const Kind text : {Kind::first, Kind::second}) {
    if (text == Kind::second && !pair) break;
    if (begin >= 0) items.push_back({Kind::token, begin});
    items.push_back({text});
    if (end >= 0) items.push_back({Kind::token, end});
  }
  return items;
}

nlohmann::ordered_json json_of(const std::string& bytes, const SentencePieceUse& use) {
  return {{"type", "sentencepiece"}, {"version", 1},   {"extra", use.extra},
          {"begin", use.begin},      {"end", use.end}, {"vocab", use.vocabulary},
          {"file", base64(bytes)}};
}

}  // namespace

std::unique_ptr<Tokenizer> sentencepiece_tokenizer(const std::string& bytes,
                                                   const SentencePieceUse& use,
                                                   const std::string& where) {
  const auto model = std::make_shared<const SentencePieceModel>(read_sentencepiece(bytes, where));
  Numbering numbering = numbering_of(*model, use, where);
  const int32_t begin = use.begin ? numbering.special("<s>", where) : -1;
  const int32_t end = use.end ? numbering.special("</s>", where) : -1;
  ImportedParts parts;
  parts.added = std::move(numbering.specials);
  parts.normalizer = {rewrite_step(sentencepiece_rewriter(model, where))};
  parts.single = frame_of(begin, end, false);
  parts.pair = frame_of(begin, end, true);
  parts.decoder = sentencepiece_decoder(model);
  parts.model = model->kind == SentencePieceModel::Kind::unigram ? sentencepiece_unigram(model)
                                                                 : sentencepiece_bpe(model);
  if (!use.vocabulary.empty())
    parts.model = renumbered_model(std::move(parts.model), std::move(numbering.vocabulary));
  if (parts.model->divides_at(kSpaceMark)) {
    SplitStep step{SplitStep::Kind::marks};
    step.mark = kSpaceMark;
    parts.splits.push_back(step);
  }
  parts.json = json_of(bytes, use).dump();
  return imported_tokenizer(std::move(parts));
}

std::string sentencepiece_file(const Json& json) {
  const Json& file = json.at("file");
  const auto bytes = file.is_string() ? from_base64(file.get_ref<const std::string&>())
                                      : std::optional<std::string>();
  require(bytes.has_value(), "\"file\" of the tokenizer must be a SentencePiece model in base64");
  return *bytes;
}

std::vector<std::string> read_tokens(const Json& json, const char* key) {
  const Json& list = json.at(key);
  require(list.is_array() && std::all_of(list.begin(), list.end(),
                                         [](const Json& token) { return token.is_string(); }),
          "\"{}\" of the tokenizer must be an array of tokens", key);
  return list.get<std::vector<std::string>>();
}

std::unique_ptr<Tokenizer> sentencepiece_from_json(const Json& json) {
  SentencePieceUse use;
  use.extra = read_tokens(json, "extra");
  use.vocabulary = read_tokens(json, "vocab");
  for (const char* key : {"begin", "end"})
    require(json.at(key).is_boolean(), "\"{}\" of the tokenizer must be true or false", key);
  use.begin = json.at("begin").get<bool>();
  use.end = json.at("end").get<bool>();
  return sentencepiece_tokenizer(sentencepiece_file(json), use, kWhere);
}

}  // namespace skein::text
