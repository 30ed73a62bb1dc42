// What a chat template's JSON says.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skein::text {

inline constexpr std::array<const char*, 3> kChatRoles{"system", "user", "assistant"};
inline constexpr size_t kAssistantRole = 2;
inline constexpr std::string_view kBeginMark = "{bos}", kEndMark = "{eos}";

// Hands over the parts of what stands around turns: text(std::string_view), and token(ends) for
// the tokenizer's token at the beginning of a text, or at its end.
template <class Text, class Token>
void each_part(std::string_view markup, Text&& text, Token&& token) {
  while (!markup.empty()) {
    const size_t at = std::min(markup.find(kBeginMark), markup.find(kEndMark));
    text(markup.substr(0, at));
    if (at == std::string_view::npos) return;
    const bool ends = markup.substr(at).starts_with(kEndMark);
    token(ends);
    markup.remove_prefix(at + (ends ? kEndMark : kBeginMark).size());
  }
}

struct TurnForm {
  std::string open, close;
  std::optional<std::string> open_after_system;

  bool operator==(const TurnForm&) const = default;
};

struct TemplateForm {
  std::string name, prefix, end;
  bool trim = false;
  std::vector<std::string> tokens;
  std::array<std::optional<TurnForm>, 3> turns;  // by role

  bool operator==(const TemplateForm&) const = default;
};

// A usage error naming `origin` and the key.
TemplateForm template_form(const std::string& json, const std::string& origin);
// The same for equal forms.
std::string to_json(const TemplateForm& form);

// The JSON of a template that has a name of its own; nullptr for another name.
const char* named_template(const std::string& name);
// "none, plain, ..."
std::string template_names();

}  // namespace skein::text
