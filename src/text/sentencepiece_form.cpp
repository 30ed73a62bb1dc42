#include <algorithm>
#include <tuple>

#include "skein/core/base64.h"
#include "skein/core/error.h"

#include "sentencepiece_tokenizer.h"
#include "text/sentencepiece/pieces.h"
#include "text/split/unicode.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Type = SentencePieceModel::Type;

Json normalizer_of(const SentencePieceModel& model) {
  auto steps = Json::array();
  if (!model.charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", base64(model.charsmap)}});
  if (model.remove_extra_whitespaces) {
    steps.push_back(replacement_json("Regex", R"(\A +| +\z)", ""));
    steps.push_back(replacement_json("Regex", " {2,}", " "));
  }
  const char* space = model.escape_whitespaces ? kSpaceMark : " ";
  if (model.add_dummy_prefix) steps.push_back({{"type", "Prepend"}, {"prepend", space}});
  if (model.escape_whitespaces) steps.push_back(replacement_json("String", " ", kSpaceMark));
  return {{"type", "Sequence"}, {"normalizers", steps}};
}

Json decoder_of(const SentencePieceModel& model) {
  auto steps = Json::array();
  steps.push_back(replacement_json("String", kSpaceMark, " "));
  if (model.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  if (model.add_dummy_prefix || model.remove_extra_whitespaces)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"type", "Sequence"}, {"decoders", steps}};
}

Json unigram_of(const SentencePieceModel& model) {
  auto vocabulary = Json::array();
  for (const SentencePieceModel::Piece& piece : model.pieces)
    vocabulary.push_back({piece.text, piece.score});
  return {{"type", "Unigram"},
          {"unk_id", model.unknown},
          {"vocab", vocabulary},
          {"byte_fallback", model.byte_fallback}};
}

// All ways to make a piece of two others, the piece of the highest score first, then as the
// converter of `transformers` has it: by the ids of the two.
Json merges_of(const SentencePieceModel& model, const Json& vocabulary) {
  std::vector<std::tuple<float, int64_t, int64_t, int64_t>> ranked;  // -score, made, left, right
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const std::string_view text = model.pieces[id].text;
    if (model.pieces[id].type != Type::normal) continue;
    for (size_t at = character_at(text, 0).bytes; at < text.size();
         at += character_at(text, at).bytes) {
      const auto left = vocabulary.find(std::string(text.substr(0, at)));
      const auto right = vocabulary.find(std::string(text.substr(at)));
      if (left != vocabulary.end() && right != vocabulary.end())
        ranked.emplace_back(-model.pieces[id].score, id, left->get<int64_t>(),
                            right->get<int64_t>());
    }
  }
  std::sort(ranked.begin(), ranked.end());
  auto merges = Json::array();
  for (const auto& [score, made, left, right] : ranked)
    merges.push_back({model.pieces[left].text, model.pieces[right].text});
  return merges;
}

Json bpe_of(const SentencePieceModel& model) {
  Json vocabulary = Json::object();
  for (size_t id = 0; id < model.pieces.size(); ++id) vocabulary[model.pieces[id].text] = id;
  Json merges = merges_of(model, vocabulary);
  return {{"type", "BPE"},
          {"unk_token", model.pieces[model.unknown].text},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"vocab", std::move(vocabulary)},
          {"merges", std::move(merges)}};
}

Json added_of(const SentencePieceModel& model, const Json& extra) {
  auto tokens = Json::array();
  const auto add = [&](size_t id, const std::string& text, bool special) {
    tokens.push_back({{"id", id}, {"content", text}, {"normalized", false}, {"special", special}});
  };
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const Type type = model.pieces[id].type;
    if (type == Type::control || type == Type::unknown || type == Type::user_defined)
      add(id, model.pieces[id].text, type != Type::user_defined);
  }
  for (size_t i = 0; i < extra.size(); ++i)
    add(model.pieces.size() + i, extra[i].get<std::string>(), true);
  return tokens;
}

Json frame_of(const SentencePieceModel& model, bool begin, bool end) {
  if (!begin && !end) return nullptr;
  const auto special = [&](int32_t id) {
    return Json{{"SpecialToken", {{"id", model.pieces[id].text}, {"type_id", 0}}}};
  };
  auto single = Json::array(), pair = Json::array();
  for (const char* text : {"A", "B"}) {
    auto part = Json::array();
    if (begin) part.push_back(special(model.begin));
    part.push_back({{"Sequence", {{"id", text}, {"type_id", 0}}}});
    if (end) part.push_back(special(model.end));
    if (*text == 'A') single = part;
    pair.insert(pair.end(), part.begin(), part.end());
  }
  Json specials = Json::object();
  for (const int32_t id : {begin ? model.begin : -1, end ? model.end : -1})
    if (id >= 0)
      specials[model.pieces[id].text] = {{"id", model.pieces[id].text},
                                         {"ids", Json::array({id})},
                                         {"tokens", Json::array({model.pieces[id].text})}};
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens", specials}};
}

}  // namespace

nlohmann::json replacement_json(const char* kind, const char* what, const char* by) {
  return {{"type", "Replace"}, {"pattern", {{kind, what}}}, {"content", by}};
}

Json hugging_face_form(const Json& json) {
  const SentencePieceModel model =
      read_sentencepiece(sentencepiece_file(json), "the SentencePiece model");
  require(json.at("vocab").empty(),
          "the SentencePiece model has the ids of a vocab.json, which a tokenizer.json cannot "
          "express; keep its files");
  for (const SentencePieceModel::Piece& piece : model.pieces)
    require(
        piece.type != Type::unused,
        "the piece {} of the SentencePiece model is unused, which other libraries cannot express",
        piece.text);
  return {
      {"version", "1.0"},
      {"added_tokens", added_of(model, json.at("extra"))},
      {"normalizer", normalizer_of(model)},
      {"pre_tokenizer", nullptr},
      {"post_processor", frame_of(model, json.at("begin").get<bool>(), json.at("end").get<bool>())},
      {"decoder", decoder_of(model)},
      {"model",
       model.kind == SentencePieceModel::Kind::unigram ? unigram_of(model) : bpe_of(model)}};
}

}  // namespace skein::text
