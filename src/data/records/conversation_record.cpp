#include "conversation_record.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "data/files/json_line.h"

namespace skein {
namespace {

using Json = nlohmann::json;

const std::vector<std::string> kPromptAnswers{"completion", "response", "output", "answer"};
const std::vector<std::string> kInstructionAnswers{"output", "response", "completion"};

bool without_word(const std::string& text) {
  return text.find_first_not_of(" \t\n\r\f\v") == std::string::npos;
}

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
      place_, listed(keys_of(json_)));
}

std::vector<Message> ConversationRecord::messages(ConversationKind kind, bool answered) const {
  std::vector<Message> made;
  switch (kind) {
    case ConversationKind::automatic:
    case ConversationKind::prompt: made = prompt(answered); break;
    case ConversationKind::instruction: made = instruction(answered); break;
    case ConversationKind::messages:
      made = listed_turns(at(json_, "messages"), "messages", false);
      break;
    case ConversationKind::sharegpt:
      made = listed_turns(at(json_, "conversations"), "conversations", true);
      break;
  }
  if (!made.empty() && made.front().role == "system" && without_word(made.front().content))
    made.erase(made.begin());
  check(made, answered);
  return made;
}

const Json& ConversationRecord::at(const Json& object, const std::string& key) const {
  const auto found = object.find(key);
  if (found != object.end()) return *found;
  const std::vector<std::string> keys = keys_of(object);
  fail_usage("{}: no key \"{}\"; the object has {}{}", place_, key, listed(keys),
             did_you_mean(key, keys));
}

std::string ConversationRecord::text(const Json& value, const std::string& called) const {
  require(value.is_string(), "{}: {} is a JSON {}, not a string", place_, called,
          value.type_name());
  return value.get<std::string>();
}

const std::string& ConversationRecord::answer_key(const std::vector<std::string>& known) const {
  if (!config_.answer.empty()) return config_.answer;
  const auto found = std::find_if(known.begin(), known.end(),
                                  [this](const std::string& key) { return json_.contains(key); });
  const bool compared = json_.contains("chosen") && json_.contains("rejected");
  require(found != known.end(), "{}: no answer: the object has {}, but none of {}{}", place_,
          listed(keys_of(json_)), listed(known),
          compared
              ? "; answers that are compared are for `skein reward`, `skein dpo` and reward models"
              : "");
  return *found;
}

void ConversationRecord::add_turns(std::vector<Message>& messages, const Json& value,
                                   const std::string& key, const char* role) const {
  if (!value.is_array())
    return messages.push_back({role, text(value, fmt::format("the value of \"{}\"", key))});
  for (Message& message : listed_turns(value, key, false)) messages.push_back(std::move(message));
}

std::vector<Message> ConversationRecord::listed_turns(const Json& list, const std::string& key,
                                                      bool sharegpt) const {
  require(list.is_array(), "{}: the value of \"{}\" is a JSON {}, not a list of turns", place_, key,
          list.type_name());
  std::vector<Message> made;
  for (size_t i = 0; i < list.size(); ++i) {
    Message message = turn(list[i], fmt::format("turn {} of \"{}\"", i + 1, key), sharegpt);
    const bool leads = made.empty() || made.back().role == "system";
    if (sharegpt && leads && message.role == "assistant") continue;
    made.push_back(std::move(message));
  }
  return made;
}

Message ConversationRecord::turn(const Json& json, const std::string& called, bool sharegpt) const {
  require(json.is_object(), "{}: {} is a JSON {}, not an object", place_, called, json.type_name());
  const std::string role_key = sharegpt ? "from" : "role",
                    text_key = sharegpt ? "value" : "content";
  const std::string given = text(at(json, role_key), fmt::format("\"{}\" of {}", role_key, called));
  const std::string role = sharegpt ? role_of(given) : given;
  require(known_role(role), "{}: {} is of \"{}\"; known are {}", place_, called, excerpt(given),
          sharegpt ? "system, human and gpt" : "system, user and assistant");
  return {role, text(at(json, text_key), fmt::format("\"{}\" of {}", text_key, called))};
}

std::vector<Message> ConversationRecord::prompt(bool answered) const {
  std::vector<Message> made;
  add_turns(made, at(json_, config_.prompt), config_.prompt, "user");
  if (!answered) return made;
  const std::string& key = answer_key(kPromptAnswers);
  add_turns(made, at(json_, key), key, "assistant");
  return made;
}

std::string ConversationRecord::instruction_text() const {
  const std::string task = text(at(json_, "instruction"), "the value of \"instruction\"");
  const char* const key = json_.contains("input") ? "input" : "context";
  const std::string input =
      json_.contains(key) ? text(json_.at(key), fmt::format("the value of \"{}\"", key)) : "";
  return instruction_turn(task, input, config_.instructions);
}

std::vector<Message> ConversationRecord::instruction(bool answered) const {
  std::vector<Message> made{{"user", instruction_text()}};
  if (!answered) return made;
  const std::string& key = answer_key(kInstructionAnswers);
  made.push_back({"assistant", text(at(json_, key), fmt::format("the value of \"{}\"", key))});
  return made;
}

void ConversationRecord::check(const std::vector<Message>& messages, bool answered) const {
  const size_t begin = !messages.empty() && messages.front().role == "system" ? 1 : 0;
  require(messages.size() > begin, "{}: the conversation has no turn of the user", place_);
  for (size_t i = begin; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    const char* const wanted = (i - begin) % 2 == 0 ? "user" : "assistant";
    require(role == wanted,
            "{}: turn {} of the conversation is of the {}, where one of the {} is due: turns "
            "alternate, the user begins, and the system stands before all",
            place_, i + 1, role, wanted);
  }
  require(!answered || messages.size() > begin + 1, "{}: the conversation has no answer", place_);
}

}  // namespace skein
