#include "skein/text/template.h"

#include <algorithm>
#include <filesystem>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/strings.h"

#include "template_form.h"

namespace skein::text {
namespace {

constexpr const char* kOrigin = "the chat template";  // of one that has no name yet

void append(std::vector<int32_t>& to, const std::vector<int32_t>& ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

}  // namespace

StoredTemplate::StoredTemplate(std::string json)
    : StoredText(std::move(json),
                 [](const std::string& text) -> std::shared_ptr<const TemplateForm> {
                   return std::make_shared<const TemplateForm>(template_form(text, kOrigin));
                 }) {}

StoredTemplate::StoredTemplate(const TemplateForm& form)
    : StoredText(to_json(form), std::make_shared<const TemplateForm>(form)) {}

ChatTemplate::NamedTemplate ChatTemplate::found(const std::string& spec) {
  const auto read = [](const std::string& text, const std::string& origin) {
    return NamedTemplate{StoredTemplate(template_form(text, origin)), origin};
  };
  if (const char* named = named_template(spec))
    return read(named, fmt::format("the chat template \"{}\"", spec));
  std::error_code error;
  require(std::filesystem::is_regular_file(spec, error),
          "\"{}\" is neither a chat template ({}) nor a JSON file of one", spec, template_names());
  return read(read_text(spec), fmt::format("the chat template {}", spec));
}

ChatTemplate::ChatTemplate(const std::string& spec, const Tokenizer& tokenizer)
    : ChatTemplate(found(spec), tokenizer) {}

ChatTemplate::ChatTemplate(const StoredTemplate& stored, const Tokenizer& tokenizer)
    : ChatTemplate(NamedTemplate{StoredTemplate(*stored), kOrigin}, tokenizer) {}

ChatTemplate::ChatTemplate(const NamedTemplate& found, const Tokenizer& tokenizer)
    : tokenizer_(&tokenizer), stored_(found.stored) {
  const TemplateForm& form = *stored_;
  name_ = form.name;
  trim_ = form.trim;
  for (const std::string& token : form.tokens) require_special(token);
  if (form.end != kEndMark) require_special(form.end);
  const std::vector<int32_t> end = markup(form.end);
  require(end.size() == 1,
          "\"end\" of {} is \"{}\", which is {} tokens of the tokenizer; it must be one",
          found.origin, form.end, end.size());
  end_ = end.front();
  prefix_ = markup(form.prefix);
  for (size_t role = 0; role < kChatRoles.size(); ++role) {
    if (!form.turns[role]) continue;
    const TurnForm& turn = *form.turns[role];
    turns_[role] = Turn{opening(turn.open), opening(turn.open_after_system.value_or(turn.open)),
                        markup(turn.close), 0};
  }
  Turn& assistant = *turns_[kAssistantRole];
  const auto at = std::find(assistant.close.begin(), assistant.close.end(), end_);
  require(at != assistant.close.end(),
          "what closes the assistant's turn in {} is \"{}\", which does not hold its end, \"{}\"",
          found.origin, form.turns[kAssistantRole]->close, form.end);
  assistant.counted = static_cast<size_t>(at - assistant.close.begin()) + 1;
}

void ChatTemplate::require_special(const std::string& token) const {
  const auto specials = tokenizer_->special_tokens();
  if (std::any_of(specials.begin(), specials.end(),
                  [&](const auto& special) { return special.first == token; }))
    return;
  fail_usage(
      "the chat template \"{}\" needs the special token {}, which the tokenizer {}; take another "
      "template (plain and none need only an end-of-text token), or a model whose tokenizer has it "
      "(`skein-data train-tokenizer --tokenizer.special=...` makes such tokenizers)",
      name_, token,
      tokenizer_->id_of(token) < 0 ? "does not have" : "has as an ordinary token only");
}

std::vector<int32_t> ChatTemplate::markup(std::string_view text) const {
  std::vector<int32_t> ids;
  each_part(
      text, [&](std::string_view part) { append(ids, tokenizer_->encode_specials(part)); },
      [&](bool ends) {
        const int32_t id = ends ? tokenizer_->end_of_text() : tokenizer_->roles().bos;
        require(!ends || id >= 0,
                "the chat template \"{}\" ends answers with the tokenizer's end-of-text token, but "
                "it has none",
                name_);
        if (id >= 0) ids.push_back(id);
      });
  return ids;
}

ChatTemplate::Opening ChatTemplate::opening(const std::string& text) const {
  const bool spaced = text.ends_with(' ');
  return {markup(std::string_view(text).substr(0, text.size() - (spaced ? 1 : 0))), spaced};
}

const ChatTemplate::Turn& ChatTemplate::turn_of(const std::string& role) const {
  const auto at = std::find(kChatRoles.begin(), kChatRoles.end(), role);
  require(at != kChatRoles.end(), "a turn's role is \"{}\"; chat templates know {}",
          role.substr(0, 60), fmt::join(kChatRoles, ", "));
  const auto& turn = turns_[at - kChatRoles.begin()];
  require(turn.has_value(),
          "the chat template \"{}\" has no place for a turn of the {}; take another template, or "
          "leave such turns out",
          name_, role);
  return *turn;
}

const ChatTemplate::Opening& ChatTemplate::opening_of(std::span<const Message> messages,
                                                      size_t index) const {
  const Turn& turn = turn_of(messages[index].role);
  return index > 0 && messages[index - 1].role == kChatRoles[0] ? turn.open_after_system
                                                                : turn.open;
}

void ChatTemplate::add(std::span<const Message> messages, size_t index, TemplatedChat& chat) const {
  const auto& [role, content] = messages[index];
  const Turn& turn = turn_of(role);
  const Opening& open = opening_of(messages, index);
  std::string text = trim_ ? trimmed(content) : content;
  if (open.spaced && !text.empty()) text.insert(text.begin(), ' ');
  append(chat.tokens, open.tokens);
  chat.answer.resize(chat.tokens.size(), 0);
  append(chat.tokens, tokenizer_->encode(text));
  append(chat.tokens, turn.close);
  const size_t beyond = turn.close.size() - turn.counted;
  if (turn.counted > 0) chat.answer.resize(chat.tokens.size() - beyond, 1);
  chat.answer.resize(chat.tokens.size(), 0);
}

TemplatedChat ChatTemplate::conversation(std::span<const Message> messages) const {
  TemplatedChat chat{prefix_, std::vector<char>(prefix_.size(), 0)};
  for (size_t i = 0; i < messages.size(); ++i) add(messages, i, chat);
  return chat;
}

std::vector<int32_t> ChatTemplate::prompt(std::span<const Message> messages) const {
  require(!messages.empty() && messages.back().role != kChatRoles[kAssistantRole],
          "a prompt must end with a turn of the user, not {}",
          messages.empty() ? "be without turns" : "of the assistant");
  std::vector<Message> asked(messages.begin(), messages.end());
  asked.push_back({kChatRoles[kAssistantRole], ""});
  std::vector<int32_t> ids = conversation(messages).tokens;
  append(ids, opening_of(asked, messages.size()).tokens);
  return ids;
}

std::string ChatTemplate::answer_text(const std::vector<int32_t>& tokens) const {
  const std::string text = tokenizer_->decode(tokens);
  if (trim_) return trimmed(text);
  const bool spaced = turns_[kAssistantRole]->open.spaced && text.starts_with(' ');
  return text.substr(spaced ? 1 : 0);
}

bool same_template(const StoredTemplate& left, const StoredTemplate& right) {
  if (left == right) return true;
  try {
    return *left == *right;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace skein::text
