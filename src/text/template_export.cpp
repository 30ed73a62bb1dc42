#include "skein/text/template_export.h"

#include <array>
#include <fmt/format.h>

#include "template_form.h"

namespace skein::text {
namespace {

constexpr std::string_view kRole = "ROLE";  // stands for one in a language's words

struct Language {
  char quote;  // around literals, which both write alike
  std::string_view each_message, take_content, take_trimmed;
  std::string_view if_role, else_if_role, other_role;
  std::string_view if_after_system, if_content, content;
  std::string_view otherwise, end_if, end_message;
  std::string_view if_asked, end_asked;
};

constexpr Language kJinja{
    .quote = '\'',
    .each_message = "{% for message in messages %}",
    .take_content = "{% set text = message['content'] %}",
    .take_trimmed = "{% set text = message['content'].strip(' \\t\\n\v\f\\r') %}",
    .if_role = "{% if message['role'] == 'ROLE' %}",
    .else_if_role = "{% elif message['role'] == 'ROLE' %}",
    .other_role =
        "{% else %}{{ raise_exception('This chat template has no place for a turn of "
        "the ' + message['role']) }}",
    .if_after_system = "{% if loop.index0 > 0 and messages[loop.index0 - 1]['role'] == 'system' %}",
    .if_content = "{% if text %}",
    .content = "{{ text }}",
    .otherwise = "{% else %}",
    .end_if = "{% endif %}",
    .end_message = "{% endfor %}",
    .if_asked = "{% if add_generation_prompt %}",
    .end_asked = "{% endif %}"};

constexpr Language kGo{.quote = '"',
                       .each_message = R"({{ $before := "" }}{{ range .Messages }})",
                       .take_content = "",
                       .take_trimmed = "",
                       .if_role = R"({{ if eq .Role "ROLE" }})",
                       .else_if_role = R"({{ else if eq .Role "ROLE" }})",
                       .other_role = "",
                       .if_after_system = R"({{ if eq $before "system" }})",
                       .if_content = "{{ if .Content }}",
                       .content = "{{ .Content }}",
                       .otherwise = "{{ else }}",
                       .end_if = "{{ end }}",
                       .end_message = "{{ $before = .Role }}{{ end }}",
                       .if_asked = "",
                       .end_asked = ""};

// What both languages and all who read them know. Other control characters stand for themselves:
// some readers take an escape that they do not know, such as \v, for its letter.
constexpr std::array<std::pair<char, char>, 3> kEscapes = {{{'\n', 'n'}, {'\t', 't'}, {'\r', 'r'}}};

class Program {
 public:
  Program(const Language& language, const TemplateForm& form, const Tokenizer& tokenizer)
      : words_(language), form_(form), tokenizer_(tokenizer) {}

  std::string text() {
    put(form_.prefix);
    text_ += words_.each_message;
    text_ += form_.trim ? words_.take_trimmed : words_.take_content;
    bool first = true;
    for (size_t role = 0; role < kChatRoles.size(); ++role) {
      if (!form_.turns[role]) continue;
      const std::string_view opens = first ? words_.if_role : words_.else_if_role;
      text_ += opens.substr(0, opens.find(kRole));
      text_ += kChatRoles[role];
      text_ += opens.substr(opens.find(kRole) + kRole.size());
      put_turn(*form_.turns[role]);
      first = false;
    }
    text_ += words_.other_role;
    text_ += words_.end_if;
    text_ += words_.end_message;
    text_ += words_.if_asked;
    put(without_space(form_.turns[kAssistantRole]->open));
    text_ += words_.end_asked;
    return std::move(text_);
  }

 private:
  static bool spaced(const std::string& open) { return open.ends_with(' '); }
  static std::string_view without_space(const std::string& open) {
    return std::string_view(open).substr(0, open.size() - (spaced(open) ? 1 : 0));
  }

  void put_turn(const TurnForm& turn) {
    if (turn.open_after_system) {
      text_ += words_.if_after_system;
      put_open(*turn.open_after_system);
      text_ += words_.otherwise;
    }
    put_open(turn.open);
    if (turn.open_after_system) text_ += words_.end_if;
    text_ += words_.content;
    put(turn.close);
  }

  // An open's last space stands before text alone.
  void put_open(const std::string& open) {
    put(without_space(open));
    if (!spaced(open)) return;
    text_ += words_.if_content;
    put_literal(" ");
    text_ += words_.end_if;
  }

  void put(std::string_view markup) {
    std::string literal;
    each_part(
        markup, [&](std::string_view text) { literal += text; },
        [&](bool ends) {
          const int32_t id = ends ? tokenizer_.end_of_text() : tokenizer_.roles().bos;
          if (id >= 0) literal += tokenizer_.decode({id}, false);
        });
    if (!literal.empty()) put_literal(literal);
  }

  void put_literal(std::string_view literal) {
    text_ += "{{ ";
    text_ += words_.quote;
    for (const char c : literal) put_character(c);
    text_ += words_.quote;
    text_ += " }}";
  }

  void put_character(char c) {
    for (const auto& [control, letter] : kEscapes)
      if (c == control) {
        text_ += '\\';
        text_ += letter;
        return;
      }
    if (c == words_.quote || c == '\\') text_ += '\\';
    text_ += c;
  }

  const Language& words_;
  const TemplateForm& form_;
  const Tokenizer& tokenizer_;
  std::string text_;
};

std::string program(const Language& language, const StoredTemplate& stored,
                    const Tokenizer& tokenizer) {
  const ChatTemplate checked(stored, tokenizer);
  return Program(language, *checked.stored(), tokenizer).text();
}

}  // namespace

std::string jinja_template(const StoredTemplate& stored, const Tokenizer& tokenizer) {
  return program(kJinja, stored, tokenizer);
}

std::string go_template(const StoredTemplate& stored, const Tokenizer& tokenizer) {
  return program(kGo, stored, tokenizer);
}

}  // namespace skein::text
