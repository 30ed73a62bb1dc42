#include "conversation_record.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "data/files/json_line.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kPromptAnswers{"completion", "response", "output", "answer"};
const std::vector<std::string> kInstructionAnswers{"output", "response", "completion"};

bool without_word(std::string_view text) { return skein::trimmed(text).empty(); }

constexpr const char* kHeading = "Below is an instruction that describes a task";

// As Alpaca's training data was worded.
std::string alpaca_prompt(const std::string& instruction, const std::string& input) {
  const char* const wish = "Write a response that appropriately completes the request.";
  if (without_word(input))
    return fmt::format("{}. {}\n\n### Instruction:\n{}\n\n### Response:", kHeading, wish,
                       instruction);
  return fmt::format(
      "{}, paired with an input that provides further context. {}\n\n### Instruction:\n{}\n\n### "
      "Input:\n{}\n\n### Response:",
      kHeading, wish, instruction, input);
}

// ShareGPT's names of roles.
std::string role_of(const std::string& from) {
  return from == "human" ? "user" : from == "gpt" ? "assistant" : from;
}

bool known_role(const std::string& role) {
  return role == "system" || role == "user" || role == "assistant";
}

}  // namespace

std::string instruction_turn(const std::string& instruction, const std::string& input,
                             InstructionForm form) {
  if (form == InstructionForm::alpaca) return alpaca_prompt(instruction, input);
  return without_word(input) ? instruction : instruction + "\n\n" + input;
}

bool has_headings(const std::string& text) { return text.starts_with(kHeading); }

ConversationKind ConversationRecord::kind() const {
  const auto has = [this](const std::string& key) { return json_.contains(key); };
  if (config_.prompt != "prompt") return ConversationKind::prompt;
  if (has("messages")) return ConversationKind::messages;
  if (has("conversations")) return ConversationKind::sharegpt;
  if (has("instruction")) return ConversationKind::instruction;
  if (has("prompt")) return ConversationKind::prompt;
  fail_usage(
      "{}: a record of a conversation has \"messages\", \"conversations\", \"instruction\" or "
      "\"prompt\", but the object has {}; name the keys of prompts and answers if they are called "
      "otherwise",
      where_, listed(keys_of(json_)));
}

std::vector<text::Message> ConversationRecord::messages(ConversationKind kind,
                                                        bool answered) const {
  std::vector<text::Message> made;
  switch (kind) {
    case ConversationKind::automatic:
    case ConversationKind::prompt: made = prompt(answered); break;
    case ConversationKind::instruction: made = instruction(answered); break;
    case ConversationKind::messages: made = listed_turns("messages", false); break;
    case ConversationKind::sharegpt: made = listed_turns("conversations", true); break;
  }
  if (!made.empty() && made.front().role == "system" && without_word(made.front().content))
    made.erase(made.begin());
  check(made, answered);
  return made;
}

const std::string& ConversationRecord::answer_key(const std::vector<std::string>& known) const {
  if (!config_.answer.empty()) return config_.answer;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [this](const std::string& key) { return json_.contains(key); });
  const bool compared = json_.contains("chosen") && json_.contains("rejected");
  require(found != known.end(), "{}: no answer: the object has {}, but none of {}{}", where_,
          listed(keys_of(json_)), listed(known),
          compared
              ? "; answers that are compared are for `skein reward`, `skein dpo` and reward models"
              : "");
  return *found;
}

std::string ConversationRecord::text_at(const std::string& key) const {
  return text_of(value_at(json_, key, where_), fmt::format("the value of \"{}\"", key), where_);
}

void ConversationRecord::add_turns(std::vector<text::Message>& messages, const std::string& key,
                                   const char* role) const {
  if (!value_at(json_, key, where_).is_array()) return messages.push_back({role, text_at(key)});
  for (text::Message& message : listed_turns(key, false)) messages.push_back(std::move(message));
}

std::vector<text::Message> ConversationRecord::listed_turns(const std::string& key,
                                                            bool sharegpt) const {
  const Json& list = value_at(json_, key, where_);
  require(list.is_array(), "{}: the value of \"{}\" is a JSON {}, not a list of turns", where_, key,
          list.type_name());
  std::vector<text::Message> made;
  for (size_t i = 0; i < list.size(); ++i) {
    text::Message message = turn(list[i], fmt::format("turn {} of \"{}\"", i + 1, key), sharegpt);
    const bool leads = made.empty() || made.back().role == "system";
    if (sharegpt && leads && message.role == "assistant") continue;
    made.push_back(std::move(message));
  }
  return made;
}

text::Message ConversationRecord::turn(const Json& json, const std::string& called,
                                       bool sharegpt) const {
  require(json.is_object(), "{}: {} is a JSON {}, not an object", where_, called, json.type_name());
  const std::string role_key = sharegpt ? "from" : "role",
                    text_key = sharegpt ? "value" : "content";
  const auto text = [&](const std::string& key) {
    return text_of(value_at(json, key, where_), fmt::format("\"{}\" of {}", key, called), where_);
  };
  const std::string given = text(role_key);
  const std::string role = sharegpt ? role_of(given) : given;
  require(known_role(role), "{}: {} is of \"{}\"; known are {}", where_, called, excerpt(given),
          sharegpt ? "system, human and gpt" : "system, user and assistant");
  return {role, text(text_key)};
}

std::vector<text::Message> ConversationRecord::prompt(bool answered) const {
  std::vector<text::Message> made;
  add_turns(made, config_.prompt, "user");
  if (answered) add_turns(made, answer_key(kPromptAnswers), "assistant");
  return made;
}

std::vector<text::Message> ConversationRecord::instruction(bool answered) const {
  const std::string task = text_at("instruction");
  const char* const key = json_.contains("input") ? "input" : "context";
  const std::string input = json_.contains(key) ? text_at(key) : "";
  std::vector<text::Message> made{{"user", instruction_turn(task, input, config_.instructions)}};
  if (answered) made.push_back({"assistant", text_at(answer_key(kInstructionAnswers))});
  return made;
}

void ConversationRecord::check(const std::vector<text::Message>& messages, bool answered) const {
  const size_t turns = alternating_turns(messages, "conversation", where_);
  require(turns > 0, "{}: the conversation has no turn of the user", where_);
  require(!answered || turns > 1, "{}: the conversation has no answer", where_);
}

size_t alternating_turns(const std::vector<text::Message>& messages, const char* called,
                         const std::string& where) {
  const size_t begin = !messages.empty() && messages.front().role == "system" ? 1 : 0;
  for (size_t i = begin; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    const char* const wanted = (i - begin) % 2 == 0 ? "user" : "assistant";
    require(role == wanted,
            "{}: turn {} of the {} is of the {}, where one of the {} is due: turns alternate, the "
            "user begins, and the system stands before all",
            where, i + 1, called, role, wanted);
  }
  return messages.size() - begin;
}

}  // namespace skein::data
