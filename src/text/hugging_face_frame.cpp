#include "skein/core/error.h"
#include "skein/core/numbers.h"

#include "hugging_face.h"

namespace skein::text {
namespace {

using ItemKind = TemplateItem::Kind;

constexpr size_t kMostItems = 1024;

// ["[SEP]", 102]
CanonicalJson read_named_id(const Component& part, const std::string& key, int32_t& id) {
  const HuggingFaceJson& json = part.at(key);
  const bool good = json.is_array() && json.size() == 2 && json[0].is_string() &&
                    json[1].is_number_unsigned() && json[1].get<uint64_t>() <= INT32_MAX;
  require(good, "\"{}\" of {} must be a token and its id", key, part.where());
  id = json[1].get<int32_t>();
  return {json[0].get<std::string>(), id};
}

// What both have: marks around one text, with which a pair begins, too.
CanonicalJson read_marks(const Component& part, ImportedParts& parts, int32_t& sep) {
  int32_t cls = -1;
  CanonicalJson canonical = {{"type", part.type()}};
  canonical["sep"] = read_named_id(part, "sep", sep);
  canonical["cls"] = read_named_id(part, "cls", cls);
  parts.single = parts.pair = {{ItemKind::token, cls}, {ItemKind::first}, {ItemKind::token, sep}};
  return canonical;
}

CanonicalJson read_bert_frame(const Component& part, ImportedParts& parts) {
  part.only({"sep", "cls"});
  int32_t sep = -1;
  CanonicalJson canonical = read_marks(part, parts, sep);
  parts.pair.insert(parts.pair.end(), {{ItemKind::second, -1, 1}, {ItemKind::token, sep, 1}});
  return canonical;
}

CanonicalJson read_roberta_frame(const Component& part, ImportedParts& parts) {
  part.only({"sep", "cls", "trim_offsets", "add_prefix_space"});
  int32_t sep = -1;
  CanonicalJson canonical = read_marks(part, parts, sep);
  canonical["trim_offsets"] = part.flag("trim_offsets", true);
  canonical["add_prefix_space"] = part.flag("add_prefix_space", true);
  parts.pair.insert(parts.pair.end(),
                    {{ItemKind::token, sep}, {ItemKind::second}, {ItemKind::token, sep}});
  return canonical;
}

// {"id": "[CLS]", "ids": [101], "tokens": ["[CLS]"]}
std::vector<int32_t> read_ids(const HuggingFaceJson& specials, const std::string& name,
                              const std::string& where) {
  const auto found = specials.find(name);
  const bool good = found != specials.end() && found->is_object() && found->contains("ids") &&
                    (*found)["ids"].is_array();
  require(good, "\"special_tokens\" of {} does not say the ids of {}", where, name.substr(0, 60));
  std::vector<int32_t> ids;
  for (const HuggingFaceJson& id : (*found)["ids"]) {
    require(id.is_number_unsigned() && id.get<uint64_t>() <= INT32_MAX,
            "an id of {} in {} is no token id", name.substr(0, 60), where);
    ids.push_back(id.get<int32_t>());
  }
  return ids;
}

class TemplateReader {
 public:
  explicit TemplateReader(const Component& part) : part_(part) {
    part.only({"single", "pair", "special_tokens"});
    const HuggingFaceJson* specials = part.find("special_tokens");
    if (specials != nullptr) specials_ = *specials;
    require(specials_.is_object(), "\"special_tokens\" of {} must be an object, not {}",
            part.where(), specials_.type_name());
  }

  CanonicalJson read(const std::string& key, Template& items) {
    const HuggingFaceJson& json = part_.at(key);
    require(json.is_array() && json.size() <= kMostItems,
            "\"{}\" of {} must be an array of {} items at most", key, part_.where(), kMostItems);
    auto canonical = CanonicalJson::array();
    for (const HuggingFaceJson& item : json) canonical.push_back(read_item(item, key, items));
    require(items.size() <= kMostItems, "\"{}\" of {} makes {} tokens; {} is the most", key,
            part_.where(), items.size(), kMostItems);
    return canonical;
  }

  CanonicalJson specials() const { return used_; }

 private:
  CanonicalJson read_item(const HuggingFaceJson& item, const std::string& key, Template& items) {
    const bool shaped = item.is_object() && item.size() == 1 && item.begin()->is_object();
    const std::string kind = shaped ? item.begin().key() : "";
    require(kind == "SpecialToken" || kind == "Sequence",
            "\"{}\" of {} has an item that is neither a SpecialToken nor a Sequence", key,
            part_.where());
    const Component what(*item.begin(), fmt::format("an item of \"{}\" of {}", key, part_.where()),
                         kind);
    what.only({"id", "type_id"});
    const std::string name = what.text("id", "");
    const int64_t type = what.integer("type_id", 0);
    require(type >= 0 && type <= 255, "type_id of {} is {}; it must lie between 0 and 255",
            what.where(), type);
    if (kind == "Sequence")
      add_sequence(name, key, narrow<int32_t>(type), items);
    else
      add_special(name, narrow<int32_t>(type), items);
    return {{kind, {{"id", name}, {"type_id", type}}}};
  }

  void add_sequence(const std::string& name, const std::string& key, int32_t type,
                    Template& items) const {
    require(name == "A" || (name == "B" && key == "pair"),
            "\"{}\" of {} names the sequence {}; it may name A{}", key, part_.where(),
            name.substr(0, 60), key == "pair" ? " and B" : "");
    items.push_back({name == "A" ? ItemKind::first : ItemKind::second, -1, type});
  }

  void add_special(const std::string& name, int32_t type, Template& items) {
    const auto ids = read_ids(specials_, name, part_.where());
    for (const int32_t id : ids) items.push_back({ItemKind::token, id, type});
    used_[name] = {
        {"id", name}, {"ids", ids}, {"tokens", std::vector<std::string>(ids.size(), name)}};
  }

  const Component& part_;
  HuggingFaceJson specials_ = HuggingFaceJson::object();
  CanonicalJson used_ = CanonicalJson::object();
};

CanonicalJson read_template(const Component& part, ImportedParts& parts) {
  TemplateReader reader(part);
  CanonicalJson canonical = {{"type", "TemplateProcessing"}};
  canonical["single"] = reader.read("single", parts.single);
  canonical["pair"] = reader.read("pair", parts.pair);
  canonical["special_tokens"] = reader.specials();
  return canonical;
}

CanonicalJson read_frame(const Component& part, ImportedParts& parts) {
  if (part.type() == "ByteLevel") return read_byte_level(part);
  require(parts.single.empty() && parts.pair.empty(),
          "{} of type {} follows another one that adds tokens, which this program does not support",
          part.where(), part.type().substr(0, 60));
  if (part.type() == "BertProcessing") return read_bert_frame(part, parts);
  if (part.type() == "RobertaProcessing") return read_roberta_frame(part, parts);
  if (part.type() == "TemplateProcessing") return read_template(part, parts);
  part.refuse_type("ByteLevel, BertProcessing, RobertaProcessing, TemplateProcessing and Sequence");
}

}  // namespace

CanonicalJson read_byte_level(const Component& part) {
  part.only({"add_prefix_space", "trim_offsets", "use_regex"});
  return {{"type", "ByteLevel"},
          {"add_prefix_space", part.flag("add_prefix_space", true)},
          {"trim_offsets", part.flag("trim_offsets", true)},
          {"use_regex", part.flag("use_regex", true)}};
}

CanonicalJson read_post_processor(const HuggingFaceJson& json, ImportedParts& parts) {
  std::vector<CanonicalJson> read;
  for (const Component& part : flattened(json, "the tokenizer's post_processor", "processors"))
    read.push_back(read_frame(part, parts));
  return gathered(json, "processors", read);
}

}  // namespace skein::text
