// How a model that makes text is asked, and what its answers say: texts that it continues, turns of
// conversations that it answers, or sources that it maps to a target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/corpus/encode_pairs.h"
#include "skein/data/samples/pair_form.h"
#include "skein/text/template.h"
#include "skein/train/chats/chat_data.h"
#include "skein/train/trained_model.h"

namespace skein::train {

struct PromptFormConfig {
  bool chat = false;       // prompts are turns of conversations
  ChatDataConfig records;  // their template, and how files of them are read
  std::string system;      // the system's turn of conversations without one; "": none
  // the token that the decoder is fed before an answer, as its vocabulary spells it, where sources
  // are mapped; "": the checkpoint's
  std::string start;
  bool specials = false;  // texts spell special tokens, of prompts and of answers
};

// Binds generate.chat, generate.template, generate.system, generate.start, generate.specials, and
// the fields of bind_records.
void bind(Options& options, PromptFormConfig& config);
// generate.template and generate.system of them.
void bind_conversation(Options& options, PromptFormConfig& config);

class PromptForm {
 public:
  // config and source outlive it. Usage errors for a chat template or a system's turn without
  // generate.chat, and for a model that knows no template where none is named. For a model that
  // maps sources: for conversations, and where nobody says what its decoder is fed first.
  PromptForm(const PromptFormConfig& config, const TrainedModel& source);

  // How files of conversations are read for this model.
  data::ConversationsConfig conversations(const std::vector<std::string>& files) const;
  // The turns that the model is given for these: with the system's turn, and a text that stands for
  // itself as an instruction where the model has learnt such ones alone, under Alpaca's headings.
  // Of a model that maps sources: with the prefix that it was trained with.
  std::vector<text::Message> given(const std::vector<text::Message>& turns) const;
  // The tokens that the model is given, those that stand around a source, or that a text begins
  // with (text_beginning), among them; none for a source without text.
  std::vector<int32_t> prompt(const std::vector<text::Message>& given) const;
  // What is fed to the decoder of a model that maps sources, before an answer.
  std::vector<int32_t> start() const;
  // What an answer's tokens say.
  std::string text(const std::vector<int32_t>& tokens) const;
  // The token that ends an answer; -1: none.
  int32_t end() const;
  bool chats() const { return form_.has_value(); }
  // Whether an answer goes on where its prompt ends.
  bool continues() const { return !form_ && !sides_; }
  // Of answers.
  const text::Tokenizer& tokenizer() const { return *source_.state.tokenizer; }
  // Of a text that is continued: "none", where prompts begin as texts do by that. There is none
  // else, nor where sources are mapped.
  text::StoredTemplate chat_template() const;

 private:
  // Of a model that maps sources.
  struct Sides {
    data::PairTokenizers tokenizers;
    data::PairForm form;
    std::string prefix;
  };
  Sides sides() const;

  const PromptFormConfig& config_;
  const TrainedModel& source_;
  std::optional<text::ChatTemplate> form_;
  std::optional<Sides> sides_;
  std::vector<int32_t> beginning_;  // of texts that are continued
  bool headings_ = false;           // a prompt that stands for itself is an instruction
};

}  // namespace skein::train
