#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/tasks/smoothed_loss.h"
#include "skein/train/vocabulary.h"

namespace skein::train {
namespace {

constexpr int64_t kUsualLength = 128;

class LabelTask : public Task {
 public:
  LabelTask(const FinetuneConfig& c, text::StoredTokenizer tokenizer);

  const data::LabelSamples& samples() const override { return *training_; }
  int64_t length() const override { return training_->shape().length; }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  std::unique_ptr<Objective> objective(const LocalModel& model) const override {
    return class_objective(model, loss_);
  }
  std::vector<Term> terms() const override { return class_terms(loss_); }
  std::vector<data::DataFile> data_files() const override { return files_; }
  bool validates() const override { return validation_ != nullptr; }
  Scores validate(const EvaluatedModel& model) const override;
  TaskNotes notes() const override { return to_notes(head_, training_->checksum()); }
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;
  bool adapts() const override { return true; }
  bool begins_anew(const Part& part, bool in_checkpoint, const TaskNotes& notes) const override;

  void complete(PretrainConfig& config, double epochs) const;

 private:
  void check(const LabelData& data, const char* what) const;

  text::StoredTokenizer tokenizer_;
  LossConfig loss_;
  LabelHead head_;
  std::unique_ptr<data::LabelSamples> training_, validation_;
  LabelData known_;  // of the validation data
  std::vector<data::DataFile> files_;
};

int64_t sample_length(const FinetuneConfig& c) {
  const int64_t context = c.run.model.context, asked = c.task.length;
  require(asked >= 0 && asked <= context,
          "task.length={} must be from 1 to model.context={}, the longest that the model can see",
          asked, context);
  return asked > 0 ? asked : std::min(context, kUsualLength);
}

LabelHead head_of(const FinetuneConfig& c) {
  require(!c.run.data.train.empty(), "data.train names no file of examples");
  LabelHead head;
  head.kind = c.task.kind;
  head.metric = metric_of(c.task.kind, c.task.metric);
  head.labels = c.task.labels;
  require(head.labels.empty() || head.kind != LabelKind::regress,
          "task.labels are for classes and tags, but task.kind=regress learns numbers");
  head.length = sample_length(c);
  head.separator = c.task.separator;
  head.pairs = head.kind != LabelKind::tag && !c.task.columns.pair.empty();
  return head;
}

std::map<std::string, std::string> column_values(const LabelColumns& columns) {
  LabelColumns copy = columns;
  const auto is_name = [](const std::string& column) {
    return column.find_first_not_of("0123456789") != std::string::npos;
  };
  if (is_name(columns.text) || is_name(columns.pair) || is_name(columns.label))
    copy.header = data::Header::yes;
  Options options("", "");
  bind(options, copy);
  const auto values = options.values();
  return {values.begin(), values.end()};
}

LabelTask::LabelTask(const FinetuneConfig& c, text::StoredTokenizer tokenizer)
    : tokenizer_(std::move(tokenizer)), loss_(c.run.loss), head_(head_of(c)) {
  const data::LabelForm form = head_.form(c.run.model, *tokenizer_);
  const bool types = form.encoder() && head_.pairs && c.run.model.token_types >= 2;
  const int64_t multiple = row_multiple(c.run.parallel);
  const auto source = [&](const LabelData& data, bool shuffle) {
    const int64_t length = padded_length(data.samples, multiple, c.run.model.context);
    return data.source(form, length, shuffle, c.run.train.seed, head_.kind, types);
  };
  const LabelData learnt = read_training(head_, form, c.task.columns, c.run.data.train);
  check(learnt, "training");
  training_ = source(learnt, true);
  head_.columns = column_values(c.task.columns);
  files_ = data::record_files(
      {{"data.train", c.run.data.train}, {"data.validation", c.run.data.validation}});
  if (c.run.data.validation.empty()) return;
  known_ = read_labelled(head_, form, c.task.columns, c.run.data.validation);
  check(known_, "validation");
  validation_ = source(known_, false);
}

void LabelTask::check(const LabelData& data, const char* what) const {
  if (data.cut > 0)
    log::info("{} of {} {} samples are longer than task.length={} and lose their ends", data.cut,
              data.size(), what, head_.length);
  require(head_.kind == LabelKind::regress || head_.outputs() > 1,
          "all labels of data.train are \"{}\"; there is nothing to tell apart",
          head_.labels.empty() ? "" : head_.labels.front());
}

Scores LabelTask::validate(const EvaluatedModel& model) const {
  return score(head_, known_, label_answers(model, *validation_, head_.outputs()));
}

void LabelTask::check_notes(const TaskNotes& notes, const std::string& origin) const {
  const auto stored = label_head(notes, origin);
  require_run_of("fine-tuning", stored != nullptr, origin);
  require(stored->kind == head_.kind && stored->labels == head_.labels,
          "{} learns task.kind={} with {} labels, but here are task.kind={} and {}{}; give another "
          "run.dir to begin anew",
          origin, name_of(stored->kind), stored->labels.size(), name_of(head_.kind),
          head_.labels.size(), stored->labels.size() == head_.labels.size() ? " others" : "");
  require(stored->mean == head_.mean && stored->deviation == head_.deviation,
          "{} learns numbers in units of mean {} and deviation {}, but those of data.train have {} "
          "and {}; give the same examples, or another run.dir to begin anew",
          origin, stored->mean, stored->deviation, head_.mean, head_.deviation);
  if (checksum_in(notes) != training_->checksum()) warn_of_other_samples(origin);
  if (stored->metric != head_.metric)
    log::warn(
        "{} compared validations by task.metric={}, now it is {}: which one is best is judged by "
        "both",
        origin, name_of(stored->metric), name_of(head_.metric));
}

// A head is kept where it says the same labels.
bool LabelTask::begins_anew(const Part& part, bool in_checkpoint, const TaskNotes& notes) const {
  if (part.kind == Part::pooler) return !in_checkpoint;
  if (part.kind != Part::label_head) return false;
  const auto before = label_head(notes, "checkpoint.load");
  return !in_checkpoint || !before || before->kind != head_.kind || before->labels != head_.labels;
}

void LabelTask::complete(PretrainConfig& c, double epochs) const {
  const Head head = head_.kind == LabelKind::tag ? Head::token : Head::sequence;
  c.model.architecture->begin_labels(c.model, head, head_.outputs());
  fill_in(c, {"task.epochs", epochs, training_->samples_per_epoch()});
  if (c.lr.warmup < 0) c.lr.warmup = c.train.steps / 10;
  if (c.lr.decay == LrConfig::Decay::automatic) c.lr.decay = LrConfig::Decay::linear;
}

}  // namespace

std::unique_ptr<Task> label_task(FinetuneConfig& config,
                                 std::shared_ptr<const text::Tokenizer> tokenizer) {
  const Architecture& architecture = *config.run.model.architecture;
  require(!architecture.maps_source(config.run.model),
          "task.kind={} learns labels, but this model is {}, which writes the target of each "
          "source; give task.kind=seq2seq",
          name_of(config.task.kind), architecture.otherwise(config.run.model));
  check_vocabulary(config.run.model, *tokenizer);
  auto task = std::make_unique<LabelTask>(config, text::StoredTokenizer(std::move(tokenizer)));
  task->complete(config.run, config.task.epochs);
  return task;
}

}  // namespace skein::train
