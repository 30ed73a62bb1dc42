// How a decoder is asked, and what its answers say: texts that it continues, or turns of
// conversations that it answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/text/template.h"
#include "skein/train/tasks/chat_data.h"
#include "skein/train/trained_model.h"

namespace skein::train {

struct PromptFormConfig {
  bool chat = false;       // prompts are turns of conversations
  ChatDataConfig records;  // their template, and how files of them are read
  std::string system;      // the system's turn of conversations without one; "": none
};

// Binds generate.chat, generate.template, generate.system, and the fields of bind_records.
void bind(Options& options, PromptFormConfig& config);

class PromptForm {
 public:
  // config and source outlive it. Usage errors for a chat template or a system's turn without
  // generate.chat, and for a model that knows no template where none is named.
  PromptForm(const PromptFormConfig& config, const TrainedModel& source);

  // How files of conversations are read for this model.
  data::ConversationsConfig conversations(const std::vector<std::string>& files) const;
  // The turns that the model is given for these: with the system's turn, and a text that stands for
  // itself as an instruction where the model has learnt such ones alone, under Alpaca's headings.
  std::vector<text::Message> given(const std::vector<text::Message>& turns) const;
  std::vector<int32_t> prompt(const std::vector<text::Message>& given) const;
  // What an answer's tokens say.
  std::string text(const std::vector<int32_t>& tokens) const;
  // The token that ends an answer; -1: none.
  int32_t end() const;
  bool chats() const { return form_.has_value(); }
  const text::Tokenizer& tokenizer() const { return *source_.state.tokenizer; }
  // A text that is continued is a prompt of no template.
  text::StoredTemplate chat_template() const;

 private:
  const PromptFormConfig& config_;
  const TrainedModel& source_;
  std::optional<text::ChatTemplate> form_;
  bool headings_ = false;  // a prompt that stands for itself is an instruction
};

}  // namespace skein::train
