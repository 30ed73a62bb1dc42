// What a chat template's JSON says.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace skein::text {

inline constexpr std::array<const char*, 3> kChatRoles{"system", "user", "assistant"};

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
