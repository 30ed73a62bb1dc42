#include "template_form.h"

#include <algorithm>
#include <ranges>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/strings.h"

namespace skein::text {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::pair<const char*, const char*> kNamed[] = {
    {"none",
     R"({"name": "none", "prefix": "{bos}", "user": {}, "assistant": {"close": "{eos}"}, "end": "{eos}"})"},
    {"plain",
     R"({"name": "plain", "prefix": "{bos}", "trim": true, "system": {}, "user": {"open": "\n\nHuman: "},
      "assistant": {"open": "\n\nAssistant: ", "close": "{eos}"}, "end": "{eos}"})"},
    {"chatml", R"({"name": "chatml", "tokens": ["<|im_start|>"],
      "system": {"open": "<|im_start|>system\n", "close": "<|im_end|>\n"},
      "user": {"open": "<|im_start|>user\n", "close": "<|im_end|>\n"},
      "assistant": {"open": "<|im_start|>assistant\n", "close": "<|im_end|>\n"}, "end": "<|im_end|>"})"},
    {"llama2", R"({"name": "llama2", "trim": true, "tokens": ["<s>"],
      "system": {"open": "<s>[INST] <<SYS>>\n", "close": "\n<</SYS>>\n\n"},
      "user": {"open": "<s>[INST] ", "close": " [/INST]", "open_after_system": ""},
      "assistant": {"open": " ", "close": " </s>"}, "end": "</s>"})"},
    {"llama3", R"({"name": "llama3", "prefix": "<|begin_of_text|>", "trim": true,
      "tokens": ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>"],
      "system": {"open": "<|start_header_id|>system<|end_header_id|>\n\n", "close": "<|eot_id|>"},
      "user": {"open": "<|start_header_id|>user<|end_header_id|>\n\n", "close": "<|eot_id|>"},
      "assistant": {"open": "<|start_header_id|>assistant<|end_header_id|>\n\n", "close": "<|eot_id|>"}, "end": "<|eot_id|>"})"},
};

// A template is not for more; nor are its tokens.
constexpr size_t kMostTemplateBytes = size_t{64} << 10;

// One object of the template.
class Part {
 public:
  Part(const OrderedJson& json, const std::string& origin, const std::string& where,
       const std::vector<std::string>& known)
      : json_(json), origin_(origin), where_(where) {
    require(json.is_object(), "{} must be a JSON object, not {}", called(), json.type_name());
    for (const auto& item : json.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      const std::string near = nearest(item.key(), known);
      fail_usage("{} has no \"{}\"{}; it may have {}", called(), item.key().substr(0, 60),
                 near.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", near),
                 fmt::join(known, ", "));
    }
  }

  const OrderedJson* find(const std::string& key) const {
    const auto at = json_.find(key);
    return at == json_.end() ? nullptr : &*at;
  }
  std::string text(const std::string& key, const std::string& fallback = "") const {
    const OrderedJson* value = find(key);
    if (value == nullptr) return fallback;
    require(value->is_string(), "\"{}\" of {} must be a string, not {}", key, called(),
            value->type_name());
    return value->get<std::string>();
  }
  bool flag(const std::string& key) const {
    const OrderedJson* value = find(key);
    require(value == nullptr || value->is_boolean(), "\"{}\" of {} must be true or false", key,
            called());
    return value != nullptr && value->get<bool>();
  }
  std::string called() const {
    return where_.empty() ? origin_ : fmt::format("\"{}\" of {}", where_, origin_);
  }

 private:
  const OrderedJson& json_;
  const std::string &origin_, where_;
};

std::optional<TurnForm> turn_form(const Part& whole, const std::string& origin,
                                  const std::string& role) {
  const OrderedJson* json = whole.find(role);
  if (json == nullptr) return std::nullopt;
  std::vector<std::string> known{"open", "close"};
  if (role == "user") known.emplace_back("open_after_system");
  const Part part(*json, origin, role, known);
  TurnForm made{part.text("open"), part.text("close"), std::nullopt};
  if (part.find("open_after_system") != nullptr)
    made.open_after_system = part.text("open_after_system");
  return made;
}

std::vector<std::string> token_list(const Part& whole) {
  std::vector<std::string> made;
  const OrderedJson* list = whole.find("tokens");
  if (list == nullptr) return made;
  require(list->is_array(), "\"tokens\" of {} must be a list of texts, not {}", whole.called(),
          list->type_name());
  for (const OrderedJson& token : *list) {
    require(token.is_string() && token != "", "\"tokens\" of {} holds {}, which is no token's text",
            whole.called(),
            token.is_string() ? "\"\"" : std::string("a JSON ") + token.type_name());
    made.push_back(token);
  }
  return made;
}

OrderedJson parsed(const std::string& text, const std::string& origin) {
  require(text.size() <= kMostTemplateBytes, "{} holds {} bytes; a chat template has at most {}",
          origin, text.size(), kMostTemplateBytes);
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::exception& error) {
    fail_usage("{} is no JSON: {}", origin, json_fault(error.what()));
  }
}

}  // namespace

TemplateForm template_form(const std::string& text, const std::string& origin) {
  const OrderedJson json = parsed(text, origin);
  const Part whole(json, origin, "",
                   {"name", "prefix", "trim", "tokens", "system", "user", "assistant", "end"});
  TemplateForm made;
  made.name = whole.text("name", "custom");
  made.prefix = whole.text("prefix");
  made.trim = whole.flag("trim");
  made.tokens = token_list(whole);
  for (size_t role = 0; role < kChatRoles.size(); ++role)
    made.turns[role] = turn_form(whole, origin, kChatRoles[role]);
  for (const char* key : {"user", "assistant", "end"})
    require(whole.find(key) != nullptr, "{} has no \"{}\", which every chat template needs", origin,
            key);
  made.end = whole.text("end");
  require(!made.end.empty(), "\"end\" of {} is empty; it is the token that ends an answer", origin);
  return made;
}

std::string to_json(const TemplateForm& form) {
  OrderedJson json{
      {"name", form.name}, {"prefix", form.prefix}, {"trim", form.trim}, {"tokens", form.tokens}};
  for (size_t role = 0; role < kChatRoles.size(); ++role) {
    if (!form.turns[role]) continue;
    OrderedJson& turn = json[kChatRoles[role]] = {{"open", form.turns[role]->open},
                                                  {"close", form.turns[role]->close}};
    if (form.turns[role]->open_after_system)
      turn["open_after_system"] = *form.turns[role]->open_after_system;
  }
  json["end"] = form.end;
  return json.dump();
}

const char* named_template(const std::string& name) {
  for (const auto& [known, json] : kNamed)
    if (name == known) return json;
  return nullptr;
}

std::string template_names() {
  return fmt::format("{}", fmt::join(kNamed | std::views::keys, ", "));
}

}  // namespace skein::text
