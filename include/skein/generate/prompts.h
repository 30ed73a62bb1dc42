// Prompts as commands are given them.
#pragma once

#include <string>
#include <vector>

#include "skein/data/records/conversations.h"

namespace skein::generate {

using Turns = std::vector<text::Message>;

enum class PromptFormat { text, jsonl };

struct Question {
  Turns turns;
  std::string record = {};  // the whole JSON line that it came from; "" for none
};

// Of a file, or of stdin for "-": a turn of the user each. text: one a line; jsonl: {"prompt":
// ...}. A usage error for a file without prompts.
std::vector<Question> prompts_in(const std::string& path, PromptFormat format);
// The conversations that read_prompts knows, without their last answers.
std::vector<Question> conversations_in(const data::ConversationsConfig& config);
// Each a turn of the user.
std::vector<Question> prompts_of(const std::vector<std::string>& texts);

// Any bytes, which JSON's text could not hold.
std::string packed(const std::vector<Question>& prompts);
std::vector<Question> unpacked(const std::string& bytes);

}  // namespace skein::generate
