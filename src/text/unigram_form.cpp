#include "unigram_form.h"

#include "skein/core/error.h"

#include "sentencepiece_tokenizer.h"
#include "text/models/byte_pieces.h"
#include "text/sentencepiece/pieces.h"

namespace skein::text {
namespace {

using Json = nlohmann::json;
using Type = SentencePieceModel::Type;

bool same(const Json& read, const Json& form) {
  for (const auto& item : form.items()) {
    const auto found = read.find(item.key());
    if (found == read.end() || *found != item.value()) return false;
  }
  return true;
}

// Of each token: special ones are control pieces. False where such a file cannot say it.
bool add_pieces(const Json& full, SentencePieceModel& model) {
  const Json& vocabulary = full.at("model").at("vocab");
  for (const Json& entry : vocabulary)
    model.pieces.push_back({entry[0].get<std::string>(), entry[1].get<float>()});
  for (const Json& token : full.at("added_tokens")) {
    const auto id = token.at("id").get<size_t>();
    if (id >= model.pieces.size() || !token.at("special").get<bool>()) return false;
    model.pieces[id].type = Type::control;
  }
  model.pieces[model.unknown].type = Type::unknown;
  for (SentencePieceModel::Piece& piece : model.pieces) {
    if (model.byte_fallback && byte_of_piece(piece.text) >= 0) piece.type = Type::byte;
    if (piece.type != Type::normal) continue;
    // Such a file does not divide text, so that no piece may lie across a division.
    const bool across = piece.text.find(kSpaceMark, 1) != std::string::npos ||
                        (piece.text.size() > 1 && piece.text.find('\n') != std::string::npos);
    if (across || piece.text.empty()) return false;
  }
  return true;
}

int32_t control(const SentencePieceModel& model, std::string_view text) {
  for (size_t id = 0; id < model.pieces.size(); ++id)
    if (model.pieces[id].text == text && model.pieces[id].type == Type::control)
      return static_cast<int32_t>(id);
  return -1;
}

}  // namespace

Json unigram_form(bool compatible, bool byte_fallback) {
  const Json prepend = {{"type", "Prepend"}, {"prepend", kSpaceMark}};
  Json normalizer = prepend;
  if (compatible)
    normalizer = {{"type", "Sequence"},
                  {"normalizers",
                   {Json{{"type", "NFKC"}}, replacement_json("Regex", R"(\s+)", " "),
                    replacement_json("Regex", R"(\A +| +\z)", ""), prepend}}};
  const Json lines = {{"type", "Split"},
                      {"pattern", {{"Regex", R"(\n)"}}},
                      {"behavior", "Isolated"},
                      {"invert", false}};
  const Json marks = {{"type", "Metaspace"},
                      {"replacement", kSpaceMark},
                      {"prepend_scheme", "never"},
                      {"split", true}};
  auto decoders = Json::array({replacement_json("String", kSpaceMark, " ")});
  if (byte_fallback) decoders.push_back({{"type", "ByteFallback"}});
  decoders.push_back({{"type", "Fuse"}});
  decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return {{"normalizer", normalizer},
          {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {lines, marks}}}},
          {"decoder", {{"type", "Sequence"}, {"decoders", decoders}}}};
}

std::string written_pieces(const Json& full) {
  const Json& json = full.at("model");
  if (json.at("type") != "Unigram") return "";
  SentencePieceModel model;
  model.byte_fallback = json.at("byte_fallback").get<bool>();
  model.unknown = json.at("unk_id").get<int32_t>();
  model.remove_extra_whitespaces = false;
  if (!same(full, unigram_form(false, model.byte_fallback)) || !add_pieces(full, model)) return "";
  model.begin = control(model, "<s>");
  model.end = control(model, "</s>");
  model.pad = control(model, "<pad>");
  const std::string bytes = written_sentencepiece(model);
  try {
    read_sentencepiece(bytes, "the file");
  } catch (const Error&) {
    return "";
  }
  return bytes;
}

}  // namespace skein::text
