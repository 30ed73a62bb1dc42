#include "skein/train/tasks/prompt_form.h"

#include "skein/core/error.h"

namespace skein::train {

void bind(Options& options, PromptFormConfig& c) {
  options.add("generate.chat", c.chat,
              "a prompt is the user's turn of a conversation, which the model answers; jsonl: also "
              "whole conversations, docs/sft.md");
  options.add("generate.template", c.records.form,
              "chat template: none, plain, chatml, llama2, llama3, or a JSON file; empty: the "
              "checkpoint's");
  options.add("generate.system", c.system,
              "of conversations without one, the system's turn; empty: none");
  bind_records(options, c.records);
}

PromptForm::PromptForm(const PromptFormConfig& config, const TrainedModel& source)
    : config_(config), source_(source) {
  const std::string& named = config.records.form;
  const TaskNotes& notes = source.state.notes;
  require(config.chat || (named.empty() && config.system.empty()),
          "generate.template and generate.system are for conversations; give generate.chat too");
  if (!config.chat) return;
  require(!chat_template_in(notes).empty() || !named.empty(),
          "{} knows no chat template, since it was not tuned on conversations; `skein sft` does "
          "that, generate.template names one",
          source.info.path);
  form_ = train::chat_template(config.records, tokenizer(), notes);
  const bool alone = config.records.instructions ? true : instruction_notes(notes).alone;
  headings_ = alone && conversations({}).instructions == data::InstructionForm::alpaca;
}

data::ConversationsConfig PromptForm::conversations(const std::vector<std::string>& files) const {
  return conversations_config(config_.records, *form_, files, source_.state.notes);
}

std::vector<text::Message> PromptForm::given(const std::vector<text::Message>& turns) const {
  std::vector<text::Message> all = turns;
  if (!form_) return all;
  if (headings_ && all.size() == 1 && !data::has_headings(all.front().content))
    all.front().content = instruction_turn(all.front().content, "", data::InstructionForm::alpaca);
  if (!config_.system.empty() && all.front().role != "system")
    all.insert(all.begin(), {"system", config_.system});
  return all;
}

std::vector<int32_t> PromptForm::prompt(const std::vector<text::Message>& given) const {
  return form_ ? form_->prompt(given) : tokenizer().encode(given.front().content);
}

std::string PromptForm::text(const std::vector<int32_t>& tokens) const {
  return form_ ? form_->answer_text(tokens) : tokenizer().decode(tokens);
}

int32_t PromptForm::end() const { return form_ ? form_->end() : tokenizer().end_of_text(); }

text::StoredTemplate PromptForm::chat_template() const {
  return form_ ? form_->stored() : text::ChatTemplate("none", tokenizer()).stored();
}

}  // namespace skein::train
