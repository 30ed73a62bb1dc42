#include "hugging_face.h"

#include <algorithm>
#include <unordered_map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strict_json.h"
#include "skein/core/strings.h"

namespace skein::text {
namespace {

constexpr size_t kMostListed = 16;
constexpr int64_t kMostAddedId = (int64_t{1} << 24) - 1;

AddedToken read_added_token(const Component& part) {
  part.only({"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"});
  AddedToken token;
  const int64_t id = part.integer("id", -1);
  require(id >= 0 && id <= kMostAddedId, "{} has the id {}; ids lie between 0 and {}", part.where(),
          id, kMostAddedId);
  token.id = narrow<int32_t>(id);
  token.content = part.text("content", "");
  token.special = part.flag("special", false);
  token.single_word = part.flag("single_word", false);
  token.lstrip = part.flag("lstrip", false);
  token.rstrip = part.flag("rstrip", false);
  token.normalized = part.flag("normalized", !token.special);
  return token;
}

void check_added(const std::vector<AddedToken>& tokens) {
  std::unordered_map<std::string, int32_t> contents;
  int32_t last = -1;
  for (const AddedToken& token : tokens) {
    require(token.id != last, "two added tokens have id {}; one of them is {}", last,
            excerpt(token.content));
    last = token.id;
    const auto [other, fresh] = contents.emplace(token.content, token.id);
    require(fresh, "the added token {} has the ids {} and {}", excerpt(token.content),
            other->second, token.id);
  }
}

void check_template(const ImportedParts& parts) {
  const int64_t size =
      std::max<int64_t>(parts.model->vocabulary().size(),
                        parts.added.empty() ? 0 : int64_t{parts.added.back().id} + 1);
  for (const Template* items : {&parts.single, &parts.pair})
    for (const TemplateItem& item : *items)
      require(item.kind != TemplateItem::Kind::token || (item.id >= 0 && item.id < size),
              "the tokenizer's post_processor uses id {}, but there are only {} ids", item.id,
              size);
}

// WordPiece tells words by its pieces; bytes need no decoder.
void choose_decoder(ImportedParts& parts, std::vector<DecoderStep> steps, bool byte_level) {
  parts.joins_words = parts.model->joins_words();
  if (byte_level || parts.joins_words) {
    const bool fits = steps.empty() || (parts.joins_words && steps.size() == 1 &&
                                        steps[0].kind == DecoderStep::Kind::word_piece);
    require(fits, "the tokenizer's decoder does not fit its model; {} belongs there",
            byte_level ? "ByteLevel" : "WordPiece");
    return;
  }
  require(!parts.decodes_bytes, "the tokenizer's decoder is ByteLevel, but its words are no bytes");
  parts.decoder = token_decoder(std::move(steps));
}

// Short words are found in a cache, a whole text never.
void divide_further(ImportedParts& parts) {
  const bool whole =
      parts.splits.empty() ||
      (parts.splits.back().kind == SplitStep::Kind::metaspace && !parts.splits.back().divides);
  if (!whole || !parts.model->divides_at(kSpaceMark)) return;
  SplitStep step{SplitStep::Kind::marks};
  step.mark = kSpaceMark;
  parts.splits.push_back(step);
}

const HuggingFaceJson& member(const HuggingFaceJson& json, const char* key) {
  static const HuggingFaceJson kNothing;
  const auto found = json.find(key);
  return found == json.end() ? kNothing : *found;
}

}  // namespace

Component::Component(const HuggingFaceJson& json, std::string where, const std::string& fallback)
    : json_(json), where_(std::move(where)), type_(fallback) {
  require(json.is_object(), "{} must be an object, not {}", where_, json.type_name());
  const auto type = json.find("type");
  if (type == json.end() && !fallback.empty()) return;
  require(type != json.end() && type->is_string(), "{} needs a \"type\"", where_);
  type_ = type->get<std::string>();
}

const HuggingFaceJson* Component::find(const std::string& key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const HuggingFaceJson& Component::at(const std::string& key) const {
  const HuggingFaceJson* found = find(key);
  require(found != nullptr, "{} of type {} needs \"{}\", which is missing", where_, excerpt(type_),
          key);
  return *found;
}

bool Component::flag(const std::string& key, bool fallback) const {
  const HuggingFaceJson* found = find(key);
  if (found == nullptr) return fallback;
  require(found->is_boolean(), "\"{}\" of {} must be true or false, not {}", key, where_,
          found->type_name());
  return found->get<bool>();
}

std::string Component::text(const std::string& key, const std::string& fallback) const {
  const HuggingFaceJson* found = find(key);
  if (found == nullptr) return fallback;
  require(found->is_string(), "\"{}\" of {} must be a string, not {}", key, where_,
          found->type_name());
  return found->get<std::string>();
}

int64_t Component::integer(const std::string& key, int64_t fallback) const {
  const HuggingFaceJson* found = find(key);
  if (found == nullptr) return fallback;
  require(is_whole<int64_t>(*found), "\"{}\" of {} must be a whole number, not {}", key, where_,
          found->is_number() ? found->dump() : found->type_name());
  return found->get<int64_t>();
}

void Component::only(const std::vector<std::string>& keys) const {
  for (const auto& item : json_.items())
    require(item.key() == "type" || std::find(keys.begin(), keys.end(), item.key()) != keys.end(),
            "{} of type {} has \"{}\", which this program does not know; it knows {}", where_,
            excerpt(type_), excerpt(item.key()), fmt::join(keys, ", "));
}

void Component::refuse(const std::string& key, const std::string& value) const {
  fail_usage("{} of type {} has {} = {}, which this program does not support", where_,
             excerpt(type_), key, value);
}

void Component::refuse_type(const std::string& known) const {
  fail_usage("{} has type {}, which this program does not support; it knows {}", where_,
             excerpt(type_), known);
}

std::vector<Component> flattened(const HuggingFaceJson& json, const std::string& where,
                                 const std::string& list) {
  std::vector<Component> parts;
  if (json.is_null()) return parts;
  const Component whole(json, where);
  if (whole.type() != "Sequence") return {whole};
  whole.only({list});
  const HuggingFaceJson& items = whole.at(list);
  require(items.is_array() && items.size() <= kMostListed,
          "\"{}\" of {} must be an array of {} at most", list, where, kMostListed);
  for (size_t i = 0; i < items.size(); ++i) {
    parts.emplace_back(items[i], fmt::format("{}, part {}", where, i));
    require(parts.back().type() != "Sequence",
            "{} is a Sequence within a Sequence, which this program does not support",
            parts.back().where());
  }
  return parts;
}

CanonicalJson gathered(const HuggingFaceJson& json, const std::string& list,
                       const std::vector<CanonicalJson>& parts) {
  if (json.is_null()) return nullptr;
  if (json.at("type") != "Sequence") return parts.at(0);
  return {{"type", "Sequence"}, {list, parts}};
}

CanonicalJson read_added_tokens(const HuggingFaceJson& json, std::vector<AddedToken>& tokens) {
  auto canonical = CanonicalJson::array();
  if (json.is_null()) return canonical;
  require(json.is_array(), "the tokenizer's added_tokens must be an array, not {}",
          json.type_name());
  for (size_t i = 0; i < json.size(); ++i) {
    AddedToken token = read_added_token(
        Component(json[i], fmt::format("added token {} of the tokenizer", i), "added"));
    if (!token.content.empty()) tokens.push_back(std::move(token));
  }
  std::sort(tokens.begin(), tokens.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  check_added(tokens);
  for (const AddedToken& token : tokens)
    canonical.push_back({{"id", token.id},
                         {"content", token.content},
                         {"single_word", token.single_word},
                         {"lstrip", token.lstrip},
                         {"rstrip", token.rstrip},
                         {"normalized", token.normalized},
                         {"special", token.special}});
  return canonical;
}

std::unique_ptr<Tokenizer> tokenizer_from_hugging_face(const HuggingFaceJson& json) {
  Component(json, "the tokenizer", "tokenizer.json")
      .only({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
             "post_processor", "decoder", "model"});
  const HuggingFaceJson& version = member(json, "version");
  require(version.is_null() || version == "1.0",
          "the tokenizer.json is of version {}; this program reads version 1.0",
          version.is_string() ? excerpt(version.get<std::string>()) : version.type_name());
  ImportedParts parts;
  bool byte_level = false;
  CanonicalJson head = {{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}};
  head["added_tokens"] = read_added_tokens(member(json, "added_tokens"), parts.added);
  head["normalizer"] = read_normalizer(member(json, "normalizer"), parts.normalizer);
  head["pre_tokenizer"] =
      read_pre_tokenizer(member(json, "pre_tokenizer"), parts.splits, byte_level);
  head["post_processor"] = read_post_processor(member(json, "post_processor"), parts);
  std::vector<DecoderStep> decoder;
  head["decoder"] = read_decoder(member(json, "decoder"), parts, decoder);
  parts.model = read_model(member(json, "model"), parts.added, byte_level);
  choose_decoder(parts, std::move(decoder), byte_level);
  divide_further(parts);
  check_template(parts);
  parts.json_head = head.dump();
  parts.json_head.pop_back();
  return imported_tokenizer(std::move(parts));
}

}  // namespace skein::text
