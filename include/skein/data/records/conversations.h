// Conversations out of JSONL files, for instruction tuning, and prompts for generating answers.
//
//   ConversationsConfig config{.files = {"dolly.jsonl.xz"}};
//   for (const Conversation& conversation : read_conversations(config)) ... conversation.messages
//
// Kinds of records:
//   prompt       {"prompt", "completion" | "response" | "output" | "answer"}; each is a text or a
//                list of turns
//   instruction  {"instruction", "input" | "context" (may be missing or empty),
//                "output" | "response" | "completion"}
//   messages     {"messages": [{"role": "system" | "user" | "assistant", "content"}, ...]}
//   sharegpt     {"conversations": [{"from": "system" | "human" | "gpt", "value"}, ...]}; turns
//                before the first of the human are left out, but for the system's
//
// Other keys are passed over. A system turn stands first or nowhere, and is left out where it is
// empty; then the user begins, and turns alternate. gzip, xz and zstd are read through; CRLF, a
// byte-order mark and empty lines are tolerated.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "skein/text/template.h"

namespace skein::data {

enum class ConversationKind { automatic, prompt, instruction, messages, sharegpt };

// What the user says of an instruction: its text and its input, divided by an empty line, or both
// under Alpaca's headings.
enum class InstructionForm { turn, alpaca };

// The user's turn of an instruction, and of its input where it has a word.
std::string instruction_turn(const std::string& instruction, const std::string& input,
                             InstructionForm form);
// Whether a text stands under Alpaca's headings.
bool has_headings(const std::string& text);

struct ConversationsConfig {
  std::vector<std::string> files{};  // "-" for stdin
  // automatic: of each file, by its first record
  ConversationKind kind = ConversationKind::automatic;
  // key of prompts; another one than this makes records of kind prompt
  std::string prompt = "prompt";
  // key of answers to prompts and instructions; "": the first of those above that is there
  std::string answer{};
  InstructionForm instructions = InstructionForm::turn;
  // so many that cannot be used are left out and told of, before one is an error
  int64_t bad_records = 0;
  int64_t most_record_bytes = int64_t{16} << 20;  // the longest line that is read
};

struct Conversation {
  std::vector<text::Message> messages{};
  std::string record{};                                 // the whole JSON line
  ConversationKind kind = ConversationKind::automatic;  // as which it was read
  int64_t file = 0;                                     // index into ConversationsConfig::files
  int64_t line = 0;                                     // from 1
};
// A conversation whose last turn is the user's.
using PromptRecord = Conversation;

// "dolly.jsonl:12", for messages about a conversation.
std::string where_of(const Conversation& conversation, const ConversationsConfig& config);

// Sees each conversation that could be read; its usage errors are those of a record that cannot be
// used, and are told with the record's file and line.
using UseConversation = std::function<void(const Conversation&)>;

// All in order, each with at least one answer. A usage error naming file and line for: a line that
// is no JSON object or too long, a file without conversations, a missing key (with those there
// are), a value of another type, an unknown role, and turns out of order. An answer may be empty:
// the token that ends it is all of it.
std::vector<Conversation> read_conversations(const ConversationsConfig& config,
                                             const UseConversation& use = {});

// Answers to the last prompt may be missing. With drop_answers they are left out where they are
// there, else they are a usage error.
std::vector<PromptRecord> read_prompts(const ConversationsConfig& config, bool drop_answers = true,
                                       const UseConversation& use = {});

}  // namespace skein::data
