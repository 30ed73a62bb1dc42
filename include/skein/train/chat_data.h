// Files of conversations as runs are told of them, and the chat template that a checkpoint knows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skein/core/options.h"
#include "skein/data/conversations.h"

namespace skein {

struct ChatDataConfig {
  std::string form{};  // as ChatTemplate's spec; "": the checkpoint's, else plain
  ConversationKind kind = ConversationKind::automatic;
  std::string prompt = "prompt", answer{};  // keys
  std::optional<InstructionForm> instructions{};  // none: under Alpaca's headings where the template is "none", else as a turn
  int64_t bad_records = 0;  // see ConversationsConfig
};

// Binds the fields under section "chat", and data.bad_records.
void bind(Options& options, ChatDataConfig& config);

// notes: of the checkpoint, see chat_template_in. tokenizer outlives the template. Usage errors as ChatTemplate.
ChatTemplate chat_template(const ChatDataConfig& config, const Tokenizer& tokenizer, const std::string& notes);
ConversationsConfig conversations_config(const ChatDataConfig& config, const ChatTemplate& form, const std::vector<std::string>& files);

// The conversations of files, encoded. Usage errors as read_conversations, and for a turn that the template has no place for, with its file
// and line.
std::vector<TemplatedChat> read_chats(const ChatDataConfig& config, const ChatTemplate& form, const std::vector<std::string>& files);

// The JSON of the template that the notes of a checkpoint hold as "template"; "" for none.
std::string chat_template_in(const std::string& notes);

}  // namespace skein
