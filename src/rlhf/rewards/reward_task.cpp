#include "skein/rlhf/rewards/reward_task.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/numbers.h"
#include "skein/data/files/line_reader.h"
#include "skein/models/architecture.h"
#include "skein/parallel/local_model.h"
#include "skein/rlhf/rewards/preference_files.h"
#include "skein/rlhf/rewards/preference_objective.h"
#include "skein/train/tasks/adapting.h"
#include "skein/train/vocabulary.h"

namespace skein::rlhf::rewards {
namespace {

std::vector<float> floats(const std::vector<double>& numbers) {
  return {numbers.begin(), numbers.end()};
}

void check(const RewardTaskConfig& c) {
  require(std::isfinite(c.loss.margin) && c.loss.margin >= 0 && std::isfinite(c.loss.centring) &&
              c.loss.centring >= 0,
          "reward.margin={} and reward.centring={} must be numbers from 0", c.loss.margin,
          c.loss.centring);
  require(c.bad_records >= 0 && c.reference_samples >= 0,
          "data.bad_records={} and reward.reference_samples={} must be at least 0", c.bad_records,
          c.reference_samples);
  require(c.reference.empty() || c.reference_samples > 0,
          "data.reference={} is given, but reward.reference_samples=0 asks for no scores of them; "
          "leave one of them out",
          fmt::join(c.reference, ","));
}

std::map<std::string, std::string> reading_of(const RewardTaskConfig& task) {
  RewardTaskConfig copy = task;
  return bound_values([&](Options& own) { bind_reading(own, copy, "reward"); });
}

void check_grades(const RewardTaskConfig& c, const std::vector<data::PreferenceRecord>& records) {
  const auto graded = [](const data::PreferenceRecord& record) {
    return record.kind == data::PreferenceKind::ranked &&
           std::any_of(record.grades.begin(), record.grades.end(),
                       [&](double grade) { return grade != record.grades.front(); });
  };
  require(c.loss.margin == 0 || std::any_of(records.begin(), records.end(), graded),
          "reward.margin={} asks for a gap by the difference of grades, but no pair or ranked list "
          "of data.train has grades that differ (score_chosen and score_rejected, margin, or "
          "scores); leave it out",
          c.loss.margin);
}

std::vector<data::FormedSample> sequences_of(const RewardForm& form,
                                             const data::PreferenceRecord& record) {
  require(form.ends_answers() ||
              std::none_of(record.answers.begin(), record.answers.end(), data::blank),
          "an answer is empty, and the tokenizer's template for pairs (post_processor) has no "
          "token behind the second text that would stand for it; leave such records out, or take a "
          "model whose tokenizer ends pairs with a token such as [SEP]");
  return form.sequences(record.prompt, record.answers);
}

// files: what the records were read of, with what is left of bad_records.
std::vector<data::PreferenceSample> formed(const RewardForm& form,
                                           const std::vector<data::PreferenceRecord>& records,
                                           const data::PreferencesConfig& files,
                                           LongPrompts long_prompts, const char* what) {
  std::vector<data::PreferenceSample> samples;
  FormedCounts counts;
  for (const data::PreferenceRecord& record : records) {
    data::PreferenceSample sample{record.kind, {}, floats(record.values), floats(record.grades)};
    if (!usable(record, files, counts.bad, [&] { sample.sequences = sequences_of(form, record); }))
      continue;
    const bool cut = std::any_of(sample.sequences.begin(), sample.sequences.end(),
                                 [](const data::FormedSample& sequence) { return sequence.cut; });
    const bool out = sample.sequences.empty() || (cut && long_prompts == LongPrompts::drop);
    counts.left_out += out;
    counts.cut += cut && !out;
    if (!out) samples.push_back(std::move(sample));
  }
  tell(counts, samples.size() + counts.left_out, what);
  require(!samples.empty(),
          "all {} prompts with their answers are too long; give a larger reward.length, or a model "
          "with a longer context",
          what);
  return samples;
}

// Those that have a better answer: of several it is the best one, and one that stands alone is
// compared with the mean of all that do.
std::vector<const data::PreferenceSample*> with_better_answers(
    const std::vector<data::PreferenceSample>& samples) {
  const auto alone = [](const data::PreferenceSample& one) { return one.sequences.size() == 1; };
  double sum = 0, count = 0;
  for (const data::PreferenceSample& one : samples)
    if (alone(one)) sum += one.values.front(), ++count;
  std::vector<const data::PreferenceSample*> better;
  for (const data::PreferenceSample& one : samples)
    if (!alone(one) || one.values.front() * count >= sum) better.push_back(&one);
  return better;
}

// Of the data in which they are named, else of what is learnt.
std::vector<data::PreferenceSample> reference_samples(
    const RewardTaskConfig& c, const RewardForm& form,
    const std::vector<data::PreferenceSample>& learnt) {
  std::vector<data::PreferenceSample> read;
  if (!c.reference.empty()) {
    data::PreferencesConfig files = files_of(c, c.reference);
    const data::Preferences good = read_demonstrations(files);
    files.bad_records -= good.bad;
    read = formed(form, good.records, files, c.long_prompts, "reference");
  }
  const auto from = with_better_answers(c.reference.empty() ? learnt : read);
  const size_t count = std::min<size_t>(from.size(), c.reference_samples);
  std::vector<data::PreferenceSample> made;
  for (size_t i = 0; i < count; ++i) {
    const data::PreferenceSample& sample = *from[i * from.size() / count];
    const size_t best =
        std::max_element(sample.values.begin(), sample.values.end()) - sample.values.begin();
    made.push_back({data::PreferenceKind::none, {sample.sequences[best]}, {0}, {0}});
  }
  return made;
}

}  // namespace

std::vector<data::PreferenceSample> read_formed(const RewardForm& form,
                                                data::PreferencesConfig files,
                                                LongPrompts long_prompts, const char* what) {
  const data::Preferences read = read_told(files, what);
  return formed(form, read.records, files, long_prompts, what);
}

RewardTask::RewardTask(RewardConfig& c, std::shared_ptr<const text::Tokenizer> tokenizer,
                       const train::TaskNotes& notes)
    : tokenizer_(std::move(tokenizer)) {
  train::check_vocabulary(c.run.model, *tokenizer_);
  require(!c.run.data.train.empty(), "data.train names no file of preferences");
  check(c.task);
  read(c, notes);
  files_ = data::record_files({{"data.train", c.run.data.train},
                               {"data.validation", c.run.data.validation},
                               {"data.reference", c.task.reference}});
  complete(c.run, c.task.epochs);
}

void RewardTask::read(const RewardConfig& c, const train::TaskNotes& notes) {
  data::PreferencesConfig files = files_of(c.task, c.run.data.train);
  const data::Preferences learnt = read_told(files, "training");
  head_.length = sequence_length(c.task, "reward", c.run.model.context);
  head_.loss = c.task.loss;
  head_.reading = reading_of(c.task);
  if (!c.run.model.architecture->sees_ahead())
    head_.chat_template =
        preference_template(c.task.chat_template, *tokenizer_, notes, learnt.records);
  const RewardForm form(*tokenizer_, c.run.model, head_);
  const auto source = [&](std::vector<data::PreferenceSample> samples, bool shuffle) {
    return form.source(std::move(samples), row_multiple(c.run.parallel), c.run.train.seed, shuffle);
  };
  check_grades(c.task, learnt.records);
  std::vector<data::PreferenceSample> samples =
      formed(form, learnt.records, files, c.task.long_prompts, "training");
  if (c.task.reference_samples > 0)
    reference_ = source(reference_samples(c.task, form, samples), false);
  training_ = source(std::move(samples), true);
  if (c.run.data.validation.empty()) return;
  validation_ = source(
      read_formed(form, files_of(c.task, c.run.data.validation), c.task.long_prompts, "validation"),
      false);
}

std::unique_ptr<Objective> RewardTask::objective(const LocalModel& model) const {
  return model.scorer() ? std::make_unique<PreferenceObjective>(*model.scorer(), head_.loss)
                        : nullptr;
}

train::Scores RewardTask::validate(const train::EvaluatedModel& model) const {
  const PreferenceScores found = preference_scores(model, *validation_);
  report_ = report_of(validation_->all(), found.scores, found.loss);
  return {report_.text(), report_.values(), -found.loss};
}

train::TaskNotes RewardTask::measured_notes(const train::EvaluatedModel& model) const {
  if (!reference_) return notes();
  const Tensor scores = all_answers(model, *reference_, reference_->samples_per_epoch(), 1, 1);
  const double count = scores.size();
  RewardHead head = head_;
  double squares = 0;
  for (float score : scores.span<float>()) head.mean += score / count;
  for (float score : scores.span<float>())
    squares += (score - head.mean) * (score - head.mean) / count;
  head.deviation = std::sqrt(squares);
  if (!(head.deviation > 1e-6 && std::isfinite(head.mean) && std::isfinite(head.deviation))) {
    log::warn(
        "the reference answers' scores have mean {} and deviation {}: scores stay as they are",
        head.mean, head.deviation);
    return notes();
  }
  return to_notes(head, training_->checksum());
}

void RewardTask::check_notes(const train::TaskNotes& notes, const std::string& origin) const {
  const auto stored = reward_head(notes, origin);
  train::require_run_of("a reward model", stored != nullptr, origin);
  train::require_unchanged(stored->chat_template, head_.chat_template, origin);
  train::require_unchanged("reward.length", stored->length, head_.length, origin);
  if (stored->loss.margin != head_.loss.margin || stored->loss.centring != head_.loss.centring)
    log::warn(
        "{} learnt by reward.margin={} and reward.centring={}, now they are {} and {}; the run "
        "goes on with these",
        origin, stored->loss.margin, stored->loss.centring, head_.loss.margin, head_.loss.centring);
  if (reward_checksum(notes) != training_->checksum()) train::warn_of_other_samples(origin);
}

// A reward model's head is kept.
bool RewardTask::begins_anew(const Part& part, bool in_checkpoint,
                             const train::TaskNotes& notes) const {
  return part.kind == Part::label_head &&
         (!in_checkpoint || !reward_head(notes, "checkpoint.load"));
}

// An encoder's head of tokens reads wherever a sequence begins, a pooler only where the row does.
void RewardTask::complete(train::PretrainConfig& c, double epochs) const {
  const Architecture& architecture = *c.model.architecture;
  architecture.begin_labels(c.model, architecture.sees_ahead() ? Head::token : Head::sequence, 1);
  if (c.model.head_std < 0) c.model.head_std = 1 / std::sqrt(c.model.d_model + 1);
  fill_in(c, {"reward.epochs", epochs, training_->samples_per_epoch(), 4});
  train::fill_in_warmup(c, 3);
}

}  // namespace skein::rlhf::rewards
