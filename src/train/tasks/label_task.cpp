#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/models/architecture.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/tasks/finetune.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/vocabulary.h"

#include "class_task.h"

namespace skein::train {
namespace {

constexpr int64_t kUsualLength = 128;

class LabelTask : public ClassTask<data::LabelSamples> {
 public:
  LabelTask(const FinetuneConfig& c, text::StoredTokenizer tokenizer);

  int64_t length() const override { return training_->shape().length; }
  text::StoredTokenizer tokenizer() const override { return tokenizer_; }
  Scores validate(const EvaluatedModel& model) const override;
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;
  bool begins_anew(const Part& part, bool in_checkpoint, const TaskNotes& notes) const override;

  void complete(PretrainConfig& config, double epochs) const;

 private:
  uint32_t checksum() const override { return training_->checksum(); }
  bool says_the_same(const LabelHead& before) const override {
    return before.kind == head_.kind && before.labels == head_.labels;
  }
  void check(const LabelData& data, const char* what) const;

  text::StoredTokenizer tokenizer_;
  LabelData known_;  // of the validation data
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
  return bound_values([&](Options& own) { bind(own, copy); });
}

LabelTask::LabelTask(const FinetuneConfig& c, text::StoredTokenizer tokenizer)
    : ClassTask(c.run.loss, head_of(c), true), tokenizer_(std::move(tokenizer)) {
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
  if (checksum_in(notes) != checksum()) warn_of_other_samples(origin);
  if (stored->metric != head_.metric)
    log::warn(
        "{} compared validations by task.metric={}, now it is {}: which one is best is judged by "
        "both",
        origin, name_of(stored->metric), name_of(head_.metric));
}

bool LabelTask::begins_anew(const Part& part, bool in_checkpoint, const TaskNotes& notes) const {
  if (part.kind == Part::pooler) return !in_checkpoint;
  return ClassTask::begins_anew(part, in_checkpoint, notes);
}

void LabelTask::complete(PretrainConfig& c, double epochs) const {
  const Head head = head_.kind == LabelKind::tag ? Head::token : Head::sequence;
  c.model.architecture->begin_labels(c.model, head, head_.outputs());
  fill_in_finetuning(c, epochs, training_->samples_per_epoch());
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
