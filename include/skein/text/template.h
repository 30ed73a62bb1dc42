// Chat templates: conversations as the tokens that a model is fed.
//
//   const ChatTemplate form("chatml", tokenizer);
//   const auto chat = form.conversation(messages);     // for training: which tokens are of answers
//   const auto ids = form.prompt(messages);            // for generating the next answer
//
// Every turn is encoded piece by piece, so a template is prefix-preserving: a turn that is added
// never changes the tokens before it, and prompt(turns) begins conversation(turns and an answer).
// Texts of turns never become special tokens, whatever they spell.
//
// The declarative form is a JSON object:
//
//   {"name": "mine", "prefix": "{bos}", "trim": true, "tokens": ["<|user|>", "<|end|>"],
//    "system": {"open": "<|system|>\n", "close": "<|end|>\n"},
//    "user": {"open": "<|user|>\n", "close": "<|end|>\n", "open_after_system": "\n"},
//    "assistant": {"open": "<|assistant|>\n", "close": "<|end|>\n"}, "end": "<|end|>"}
//
// prefix begins every conversation, open and close stand around a turn, end is the one token that
// ends an answer, in assistant.close. What opens the assistant's turn is the prompt for its answer.
// `tokens` are those that the tokenizer must have as special tokens beside end. {bos} is the
// tokenizer's token at the beginning of a text, nothing where it has none; {eos} its end-of-text
// token. open_after_system replaces open in the turn after the system's. A space at the end of an
// open is encoded with the text that follows, so that words get the ids of words within a text.
// trim: white space (ASCII) around a turn's text is left out. All but user, assistant and end may
// be missing; without "system" a system turn is an error.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skein/core/stored.h"
#include "skein/text/tokenizer.h"

namespace skein::text {

struct TemplateForm;

// A chat template as checkpoints keep it, without a tokenizer: its JSON, which stays as it is
// stored, or "" where they know none. The value is what the JSON says; usage errors as ChatTemplate
// has them for a text that says nothing of the kind.
class StoredTemplate : public StoredText<TemplateForm> {
 public:
  StoredTemplate() : StoredTemplate(std::string()) {}
  explicit StoredTemplate(std::string json);
  // Its JSON is the declarative form above; equal forms have equal JSON.
  explicit StoredTemplate(const TemplateForm& form);
};

// role: system, user or assistant.
struct Message {
  std::string role, content;
};

struct TemplatedChat {
  std::vector<int32_t> tokens;
  // of each token: not 0 in an assistant's answer, the token that ends it included
  std::vector<char> answer;
};

class ChatTemplate {
 public:
  // spec: none (prompt, answer, end-of-text), plain (Human and Assistant), chatml, llama2, llama3,
  // or the path of a JSON file. tokenizer outlives the template. A usage error for another name, a
  // file that is none, and a tokenizer without a token that the template needs.
  ChatTemplate(const std::string& spec, const Tokenizer& tokenizer);
  // A usage error as above; whatever the text, it is never more than that.
  ChatTemplate(const StoredTemplate& stored, const Tokenizer& tokenizer);

  // A usage error for a role that the template does not know.
  TemplatedChat conversation(std::span<const Message> messages) const;
  // Ends right before the first token of the next answer. A usage error where the last turn is an
  // answer itself, or none is given.
  std::vector<int32_t> prompt(std::span<const Message> messages) const;
  // What an answer's tokens say, without its end and what the template puts around its text.
  std::string answer_text(const std::vector<int32_t>& tokens) const;

  // The token that ends an answer.
  int32_t end() const { return end_; }
  const std::string& name() const { return name_; }
  // Whether white space around a turn's text is left out.
  bool trims() const { return trim_; }
  // All of it; equal templates have equal JSON.
  const StoredTemplate& stored() const { return stored_; }
  const std::string& to_json() const { return stored_.text(); }

 private:
  struct Opening {
    std::vector<int32_t> tokens;
    bool spaced = false;  // the text that follows begins with a space
  };
  struct Turn {
    Opening open, open_after_system;
    std::vector<int32_t> close;
    size_t counted = 0;  // of close: so many belong to the answer
  };

  struct NamedTemplate {
    StoredTemplate stored;
    std::string origin;
  };

  ChatTemplate(const NamedTemplate& found, const Tokenizer& tokenizer);
  static NamedTemplate found(const std::string& spec);
  std::vector<int32_t> markup(std::string_view text) const;
  Opening opening(const std::string& text) const;
  void require_special(const std::string& token) const;
  const Turn& turn_of(const std::string& role) const;
  const Opening& opening_of(std::span<const Message> messages, size_t index) const;
  void add(std::span<const Message> messages, size_t index, TemplatedChat& chat) const;

  const Tokenizer* tokenizer_;
  StoredTemplate stored_;
  std::string name_;
  bool trim_ = false;
  std::vector<int32_t> prefix_;
  std::array<std::optional<Turn>, 3> turns_;  // system, user, assistant
  int32_t end_ = -1;
};

// Whether both are one template: what they say is compared, not how it is written (the order of
// keys, white space). Texts that are none are so only when they are equal.
bool same_template(const StoredTemplate& left, const StoredTemplate& right);

}  // namespace skein::text
