#include "skein/train/chats/prompt_form.h"

#include <limits>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/pair_notes.h"

namespace skein::train {

void bind_conversation(Options& options, PromptFormConfig& c) {
  options.add("generate.template", c.records.form,
              "chat template: none, plain, chatml, llama2, llama3, or a JSON file; empty: the "
              "checkpoint's");
  options.add("generate.system", c.system,
              "of conversations without one, the system's turn; empty: none");
}

void bind(Options& options, PromptFormConfig& c) {
  options.add("generate.chat", c.chat,
              "a prompt is the user's turn of a conversation, which the model answers; jsonl: also "
              "whole conversations, docs/sft.md");
  bind_conversation(options, c);
  options.add("generate.start", c.start,
              "token that the decoder of an encoder-decoder is fed before an answer, such as "
              "<pad>; empty: the checkpoint's");
  options.add("generate.specials", c.specials,
              "special tokens, such as <mask>, are recognised in prompts and written in answers");
  bind_records(options, c.records);
}

namespace {

std::string no_template(const TrainedModel& source) {
  return source.info.path +
         (imported_template(source.state).empty()
              ? " knows no chat template, since it was not tuned on conversations; `skein sft` "
                "does that, generate.template names one"
              : " was imported with a chat template in Jinja, which is not read here; name its "
                "like with generate.template: chatml, llama2, llama3, or a JSON file");
}

}  // namespace

PromptForm::PromptForm(const PromptFormConfig& config, const TrainedModel& source)
    : config_(config), source_(source) {
  const std::string& named = config.records.form;
  const TaskNotes& notes = source.state.notes;
  require(config.chat || (named.empty() && config.system.empty()),
          "generate.template and generate.system are for conversations; give generate.chat too");
  if (source.model.architecture->maps_source(source.model)) {
    sides_ = sides();
    return;
  }
  require(config.start.empty(),
          "generate.start={} is for models that map sources to targets, and {} continues its "
          "prompts; leave it out",
          excerpt(config.start), source.info.path);
  if (!config.chat) {
    beginning_ = text_beginning(source);
    return;
  }
  require(!config.specials,
          "generate.specials is for texts; in conversations the template alone makes special "
          "tokens");
  if (chat_template_in(notes).empty() && named.empty()) fail_usage("{}", no_template(source));
  form_ = train::chat_template(config.records, tokenizer(), notes);
  const bool alone = config.records.instructions ? true : instruction_notes(notes).alone;
  headings_ = alone && conversations({}).instructions == data::InstructionForm::alpaca;
}

PromptForm::Sides PromptForm::sides() const {
  require(!config_.chat,
          "generate.chat is for models that continue text, and {} maps sources to targets; leave "
          "it out",
          source_.info.path);
  const data::PairTokenizers both = pair_tokenizers(source_);
  check_sources(source_.model, both.source->vocab_size(), "the tokenizer of sources");
  return {both,
          data::pair_form(*both.source, *both.target,
                          decoder_start(source_, config_.start, "generate.start")),
          pair_notes(source_.state.notes, source_.info.path).option("task.prefix")};
}

data::ConversationsConfig PromptForm::conversations(const std::vector<std::string>& files) const {
  return conversations_config(config_.records, *form_, files, source_.state.notes);
}

std::vector<text::Message> PromptForm::given(const std::vector<text::Message>& turns) const {
  std::vector<text::Message> all = turns;
  if (sides_ && !trimmed(all.front().content).empty())
    all.front().content.insert(0, sides_->prefix);
  if (!form_) return all;
  if (headings_ && all.size() == 1 && !data::has_headings(all.front().content))
    all.front().content = instruction_turn(all.front().content, "", data::InstructionForm::alpaca);
  if (!config_.system.empty() && all.front().role != "system")
    all.insert(all.begin(), {"system", config_.system});
  return all;
}

std::vector<int32_t> PromptForm::prompt(const std::vector<text::Message>& given) const {
  if (form_) return form_->prompt(given);
  const std::string& text = given.front().content;
  const text::Tokenizer& encoder = sides_ ? *sides_->tokenizers.source : tokenizer();
  std::vector<int32_t> tokens =
      config_.specials ? encoder.encode_specials(text) : encoder.encode(text);
  if (!sides_) begin_with(beginning_, tokens);
  if (!sides_) return tokens;
  if (trimmed(text).empty() || tokens.empty()) return {};
  return sides_->form.source.framed(tokens, std::numeric_limits<int64_t>::max());
}

std::vector<int32_t> PromptForm::start() const {
  return sides_ ? std::vector{sides_->form.start} : std::vector<int32_t>{};
}

std::string PromptForm::text(const std::vector<int32_t>& tokens) const {
  return form_ ? form_->answer_text(tokens) : tokenizer().decode(tokens, !config_.specials);
}

int32_t PromptForm::end() const {
  if (sides_) return sides_->form.target.after.back();
  return form_ ? form_->end() : tokenizer().end_of_text();
}

text::StoredTemplate PromptForm::chat_template() const {
  if (form_) return form_->stored();
  if (sides_ || tokenizer().end_of_text() < 0) return {};
  const int32_t bos = tokenizer().roles().bos;
  if (beginning_ != (bos < 0 ? std::vector<int32_t>() : std::vector{bos})) return {};
  return text::ChatTemplate("none", tokenizer()).stored();
}

}  // namespace skein::train
