// Files of conversations as runs are told of them, and the chat template that a checkpoint knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/records/conversations.h"
#include "skein/text/template.h"
#include "skein/train/task_notes.h"

namespace skein::train {

struct ChatDataConfig {
  std::string form{};                   // as ChatTemplate's spec; "": the checkpoint's, else plain
  data::ConversationsConfig records{};  // how they are read, but for files and instructions
  // none: the checkpoint's, else under Alpaca's headings where the template is "none", else as a
  // turn
  std::optional<data::InstructionForm> instructions{};
};

// Binds the fields under section "chat", and data.bad_records.
void bind(Options& options, ChatDataConfig& config);
// Binds those of them that say how records are read, of section "chat".
void bind_records(Options& options, ChatDataConfig& config);

// How a model was taught instructions, as the notes of its checkpoint say.
struct InstructionNotes {
  // of records that are instructions; none where nothing is said
  std::optional<data::InstructionForm> form{};
  // all that it learnt were such records, so a text that stands for itself is one, too
  bool alone = false;
};
InstructionNotes instruction_notes(const TaskNotes& notes);
// The notes of a task with those of instructions.
TaskNotes with_instructions(const TaskNotes& notes, const InstructionNotes& instructions);

// The template that config asks for, or that of the checkpoint with these notes (see
// chat_template_in). tokenizer outlives it. Usage errors as ChatTemplate.
text::ChatTemplate chat_template(const ChatDataConfig& config, const text::Tokenizer& tokenizer,
                                 const TaskNotes& notes);
// How the files are read. notes: as above; what they say of instructions counts only where the
// template is the checkpoint's as well.
data::ConversationsConfig conversations_config(const ChatDataConfig& config,
                                               const text::ChatTemplate& form,
                                               const std::vector<std::string>& files,
                                               const TaskNotes& notes);

struct Chats {
  std::vector<text::TemplatedChat> chats;
  // of these chats; where none is an instruction the form is the checkpoint's, if it keeps its
  // template
  InstructionNotes instructions;
};
// The conversations of files, encoded. Usage errors as read_conversations, and for a turn that the
// template has no form for, with its file and line; config.bad_records counts both.
Chats read_chats(const ChatDataConfig& config, const text::ChatTemplate& form,
                 const std::vector<std::string>& files, const TaskNotes& notes);

// The template that the notes of a checkpoint hold as "template".
text::StoredTemplate chat_template_in(const TaskNotes& notes);

}  // namespace skein::train
