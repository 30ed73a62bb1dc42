#include "skein/train/chats/chat_data.h"

#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/data/files/line_reader.h"

namespace skein::train {

using Json = nlohmann::ordered_json;

void bind_records(Options& options, ChatDataConfig& c) {
  options.add_choice("chat.kind", c.records.kind,
                     {{"auto", data::ConversationKind::automatic},
                      {"prompt", data::ConversationKind::prompt},
                      {"instruction", data::ConversationKind::instruction},
                      {"messages", data::ConversationKind::messages},
                      {"sharegpt", data::ConversationKind::sharegpt}},
                     "of the records; auto: by the first one of each file");
  options.add("chat.prompt", c.records.prompt, "key of prompts");
  options.add("chat.answer", c.records.answer,
              "key of their answers; empty: completion, response, output or answer");
  options.add_choice(
      "chat.instructions", c.instructions,
      {{"auto", std::nullopt},
       {"turn", data::InstructionForm::turn},
       {"alpaca", data::InstructionForm::alpaca}},
      "an instruction and its input are the user's turn, or stand under Alpaca's headings; auto: "
      "as the checkpoint learnt them, else alpaca for chat.template=none");
}

void bind(Options& options, ChatDataConfig& c) {
  options.add(
      "chat.template", c.form,
      "none, plain, chatml, llama2, llama3, or a JSON file; empty: the checkpoint's, else plain");
  bind_records(options, c);
  options.add("data.bad_records", c.records.bad_records,
              "records that cannot be used and are left out, before one is an error");
}

text::ChatTemplate chat_template(const ChatDataConfig& c, const text::Tokenizer& tokenizer,
                                 const TaskNotes& notes) {
  if (!c.form.empty()) return text::ChatTemplate(c.form, tokenizer);
  const text::StoredTemplate stored = chat_template_in(notes);
  return stored.empty() ? text::ChatTemplate("plain", tokenizer)
                        : text::ChatTemplate(stored, tokenizer);
}

namespace {

constexpr const char* kTurn = "turn";
constexpr const char* kAlpaca = "alpaca";

data::InstructionForm instruction_form(const ChatDataConfig& c, const text::ChatTemplate& form,
                                       const TaskNotes& notes) {
  if (c.instructions) return *c.instructions;
  if (const InstructionNotes stored = instruction_notes(notes); stored.form && c.form.empty())
    return *stored.form;
  return form.name() == "none" ? data::InstructionForm::alpaca : data::InstructionForm::turn;
}

}  // namespace

data::ConversationsConfig conversations_config(const ChatDataConfig& c,
                                               const text::ChatTemplate& form,
                                               const std::vector<std::string>& files,
                                               const TaskNotes& notes) {
  data::ConversationsConfig made = c.records;
  made.files = files;
  made.instructions = instruction_form(c, form, notes);
  return made;
}

Chats read_chats(const ChatDataConfig& c, const text::ChatTemplate& form,
                 const std::vector<std::string>& files, const TaskNotes& notes) {
  const data::ConversationsConfig config = conversations_config(c, form, files, notes);
  Chats made;
  int64_t empty = 0, tasks = 0;
  read_conversations(config, [&](const data::Conversation& conversation) {
    made.chats.push_back(form.conversation(conversation.messages));
    for (const auto& [role, content] : conversation.messages)
      empty += role == "assistant" && data::blank(content);
    tasks += conversation.kind == data::ConversationKind::instruction;
  });
  made.instructions.alone = tasks == std::ssize(made.chats);
  if (tasks > 0)
    made.instructions.form = config.instructions;
  else if (c.form.empty())
    made.instructions.form = instruction_notes(notes).form;
  if (empty > 0)
    log::info("answers of {} that are empty or white space: {}; how they end is what is learnt",
              fmt::join(files, ", "), empty);
  return made;
}

InstructionNotes instruction_notes(const TaskNotes& notes) {
  const Json* json = notes.object();
  if (!json || !json->contains("instructions") || !json->at("instructions").is_object()) return {};
  const Json& stored = json->at("instructions");
  const Json form = stored.value("form", Json());
  if (form != kTurn && form != kAlpaca) return {};
  return {form == kAlpaca ? data::InstructionForm::alpaca : data::InstructionForm::turn,
          stored.value("alone", Json()) == true};
}

TaskNotes with_instructions(const TaskNotes& notes, const InstructionNotes& instructions) {
  if (!instructions.form) return notes;
  Json json = *notes;
  json["instructions"] = {
      {"form", *instructions.form == data::InstructionForm::alpaca ? kAlpaca : kTurn},
      {"alone", instructions.alone}};
  return TaskNotes(json.dump());
}

text::StoredTemplate chat_template_in(const TaskNotes& notes) {
  const Json* json = notes.object();
  return json && json->contains("template") && json->at("template").is_object()
             ? text::StoredTemplate(json->at("template").dump())
             : text::StoredTemplate();
}

}  // namespace skein::train
