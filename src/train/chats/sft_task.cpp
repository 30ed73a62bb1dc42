#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/models/architecture.h"
#include "skein/train/chats/chat_scores.h"
#include "skein/train/chats/sft.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/vocabulary.h"

namespace skein::train {
namespace {

using Json = nlohmann::ordered_json;

class SftTask : public Task {
 public:
  SftTask(const SftConfig& c, text::StoredTokenizer tokenizer, const TaskNotes& notes);

  const data::ChatSamples& samples() const override { return *training_; }
  int64_t length() const override { return training_->length(); }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  std::vector<data::DataFile> data_files() const override { return files_; }
  bool validates() const override { return validation_ != nullptr; }
  Scores validate(const EvaluatedModel& model) const override {
    return answer_scores(model, *validation_, vocabulary_);
  }
  TaskNotes notes() const override;
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;
  bool adapts() const override { return true; }

  void complete(PretrainConfig& config, double epochs) const;

 private:
  std::unique_ptr<data::ChatSamples> read(const SftConfig& c, const std::vector<std::string>& files,
                                          const TaskNotes& notes, bool training);

  text::StoredTokenizer tokenizer_;
  text::ChatTemplate form_;
  InstructionNotes instructions_;            // of the training data
  std::map<std::string, std::string> rows_;  // of both, by option
  std::unique_ptr<data::ChatSamples> training_, validation_;
  int64_t vocabulary_;
  std::vector<data::DataFile> files_;
};

std::map<std::string, std::string> row_values(const SftTaskConfig& task) {
  SftTaskConfig copy = task;
  return bound_values([&](Options& own) { bind_rows(own, copy); });
}

SftTask::SftTask(const SftConfig& c, text::StoredTokenizer tokenizer, const TaskNotes& notes)
    : tokenizer_(std::move(tokenizer)),
      form_(chat_template(c.chat, *tokenizer_, notes)),
      training_(read(c, c.run.data.train, notes, true)),
      validation_(c.run.data.validation.empty() ? nullptr
                                                : read(c, c.run.data.validation, notes, false)),
      vocabulary_(c.run.model.vocab_size) {
  rows_ = row_values(c.task);
  files_ = data::record_files(
      {{"data.train", c.run.data.train}, {"data.validation", c.run.data.validation}});
  tell_samples(*training_, "training", form_.name());
  if (validation_) tell_samples(*validation_, "validation", form_.name());
}

std::unique_ptr<data::ChatSamples> SftTask::read(const SftConfig& c,
                                                 const std::vector<std::string>& files,
                                                 const TaskNotes& notes, bool training) {
  const int64_t context = c.run.model.context, length = c.task.length > 0 ? c.task.length : context;
  auto [chats, instructions] = read_chats(c.chat, form_, files, notes);
  if (training) instructions_ = instructions;
  const auto bare = std::ranges::count_if(
      chats, [](const text::TemplatedChat& chat) { return chat.tokens.size() < 2; });
  data::ChatSamplesConfig config = rows_of(c.task, chats, context, row_multiple(c.run.parallel));
  config.pad = std::max(0, tokenizer_->roles().pad);
  config.seed = c.run.train.seed;
  config.shuffle = training;
  auto made = std::make_unique<data::ChatSamples>(std::move(chats), config);
  const char* option = training ? "data.train" : "data.validation";
  require(
      bare == 0 || bare < made->counts().chats,
      "the {} conversations of {} are empty: by the chat template \"{}\" no token stands before "
      "the end of an answer; give prompts or answers with text",
      made->counts().chats, option, form_.name());
  require(made->samples_per_epoch() > 0,
          "none of the {} conversations of {} has an answer that fits into {} tokens; give a "
          "longer sft.length (at most model.context={}), or sft.longer=cut",
          made->counts().chats, option, length, context);
  return made;
}

TaskNotes SftTask::notes() const {
  const Json json{{"task", "sft"},
                  {"template", Json::parse(form_.to_json())},
                  {"length", length()},
                  {"training_checksum", training_->checksum()},
                  {"rows", rows_}};
  return with_instructions(TaskNotes(json.dump()), instructions_);
}

void SftTask::check_notes(const TaskNotes& notes, const std::string& origin) const {
  const text::StoredTemplate stored = chat_template_in(notes);
  require_run_of("instruction tuning", notes.text_of("task") == "sft" && !stored.empty(), origin);
  const text::ChatTemplate before = text::ChatTemplate(stored, *tokenizer_);
  require(before.to_json() == form_.to_json(),
          "{} learns conversations by the chat template \"{}\", but chat.template is \"{}\"{}; "
          "give another run.dir to begin anew",
          origin, before.name(), form_.name(),
          before.name() == form_.name() ? " with other markers" : "");
  if (notes->value("training_checksum", Json()) != training_->checksum())
    warn_of_other_samples(origin);
}

void SftTask::complete(PretrainConfig& c, double epochs) const {
  fill_in(c, {"sft.epochs", epochs, training_->samples_per_epoch()});
  if (c.lr.warmup < 0) c.lr.warmup = (c.train.steps * 3 + 99) / 100;
  if (c.lr.decay == LrConfig::Decay::automatic) c.lr.decay = LrConfig::Decay::cosine;
}

void check(const SftConfig& c, const text::Tokenizer& tokenizer) {
  const ModelConfig& model = c.run.model;
  require(
      model.architecture->continues_text(model),
      "this model is no language model that continues text, but {}; `skein sft` needs a GPT with "
      "model.head=vocabulary",
      model.architecture->otherwise(model));
  require_one_way(model, "skein sft");
  check_vocabulary(model, tokenizer);
  require(!c.run.data.train.empty(), "data.train names no file of conversations");
  check_rows(c.task, model.context);
}

}  // namespace

std::unique_ptr<Task> sft_task(SftConfig& config, std::shared_ptr<const text::Tokenizer> tokenizer,
                               const TaskNotes& notes) {
  check(config, *tokenizer);
  auto task = std::make_unique<SftTask>(config, text::StoredTokenizer(std::move(tokenizer)), notes);
  task->complete(config.run, config.task.epochs);
  return task;
}

}  // namespace skein::train
