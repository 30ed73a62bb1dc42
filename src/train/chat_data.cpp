#include "skein/train/chat_data.h"

#include <nlohmann/json.hpp>

#include "skein/core/error.h"

namespace skein {

void bind(Options& options, ChatDataConfig& c) {
  options.add("chat.template", c.form, "none, plain, chatml, llama2, llama3, or a JSON file; empty: the checkpoint's, else plain");
  options.add_choice("chat.kind", c.kind,
                     {{"auto", ConversationKind::automatic}, {"prompt", ConversationKind::prompt}, {"instruction", ConversationKind::instruction},
                      {"messages", ConversationKind::messages}, {"sharegpt", ConversationKind::sharegpt}},
                     "of the records; auto: by the first one of each file");
  options.add("chat.prompt", c.prompt, "key of prompts");
  options.add("chat.answer", c.answer, "key of their answers; empty: completion, response, output or answer");
  options.add_choice("chat.instructions", c.instructions, {{"auto", std::nullopt}, {"turn", InstructionForm::turn}, {"alpaca", InstructionForm::alpaca}},
                     "an instruction and its input are the user's turn, or stand under Alpaca's headings; auto: alpaca for chat.template=none");
  options.add("data.bad_records", c.bad_records, "records that cannot be used and are left out, before one is an error");
}

ChatTemplate chat_template(const ChatDataConfig& c, const Tokenizer& tokenizer, const std::string& notes) {
  if (!c.form.empty()) return ChatTemplate(c.form, tokenizer);
  const std::string stored = chat_template_in(notes);
  return stored.empty() ? ChatTemplate("plain", tokenizer) : ChatTemplate::from_json(stored, tokenizer);
}

ConversationsConfig conversations_config(const ChatDataConfig& c, const ChatTemplate& form, const std::vector<std::string>& files) {
  ConversationsConfig made;
  made.files = files;
  made.kind = c.kind;
  made.prompt = c.prompt;
  made.answer = c.answer;
  made.bad_records = c.bad_records;
  made.instructions = c.instructions.value_or(form.name() == "none" ? InstructionForm::alpaca : InstructionForm::turn);
  return made;
}

std::vector<TemplatedChat> read_chats(const ChatDataConfig& c, const ChatTemplate& form, const std::vector<std::string>& files) {
  const ConversationsConfig config = conversations_config(c, form, files);
  std::vector<TemplatedChat> made;
  for (const Conversation& conversation : read_conversations(config)) {
    try {
      made.push_back(form.conversation(conversation.messages));
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", place_of(conversation, config), error.what()));
    }
  }
  return made;
}

std::string chat_template_in(const std::string& notes) {
  const auto json = nlohmann::ordered_json::parse(notes, nullptr, false);
  return json.is_object() && json.contains("template") && json["template"].is_object() ? json["template"].dump() : "";
}

}  // namespace skein
