#include "skein/train/tasks/story_task.h"

#include <algorithm>
#include <map>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/core/values.h"
#include "skein/models/architecture.h"
#include "skein/train/scores.h"
#include "skein/train/tasks/adapting.h"

#include "class_task.h"
#include "record_blend.h"

namespace skein::train {
namespace {

class StoryTask : public ClassTask<data::StorySamples> {
 public:
  StoryTask(const PretrainConfig& run, data::StoryBlend learnt, data::StoryBlend known,
            const StoryTaskConfig& config);

  int64_t length() const override { return training_->length(); }
  Scores validate(const EvaluatedModel& model) const override;
  void check_notes(const TaskNotes& notes, const std::string& origin) const override;

 private:
  uint32_t checksum() const override { return checksum_of(training_->blend()); }
};

StoryTask::StoryTask(const PretrainConfig& run, data::StoryBlend learnt, data::StoryBlend known,
                     const StoryTaskConfig& config)
    : ClassTask(run.loss, {}, false) {
  files_ = files_of("data.train", learnt);
  std::ranges::move(files_of("data.validation", known), std::back_inserter(files_));
  head_.labels = learnt.parts.front().vocabulary();
  data::StorySampleConfig samples{.memories = run.model.architecture->memories(run.model),
                                  .empty = config.empty,
                                  .seed = run.train.seed,
                                  .order = data::training_order(run.data.shuffle)};
  training_ = std::make_unique<data::StorySamples>(std::move(learnt), samples);
  if (known.parts.empty()) return;
  samples.empty = 0;
  samples.order = data::OrderKind::once;
  validation_ = std::make_unique<data::StorySamples>(std::move(known), samples);
}

Scores StoryTask::validate(const EvaluatedModel& model) const {
  return story_scores(
      *validation_,
      label_answers(model, *validation_, validation_->samples_per_epoch(), 1, head_.outputs()));
}

void StoryTask::check_notes(const TaskNotes& notes, const std::string& origin) const {
  const auto stored = label_head(notes, origin);
  require_run_of("training on stories", stored && !stored->reads_images(), origin);
  require(stored->labels == head_.labels,
          "{} knows the words {}, but data.train has {}; give another run.dir to begin anew",
          origin, listed(stored->labels), listed(head_.labels));
  if (checksum_in(notes) != checksum()) warn_of_other_samples(origin);
}

// What the data say of a model.
void take_vocabulary(ModelConfig& model, int64_t words, int64_t length) {
  require(model.vocab_size == 0 || model.vocab_size == words,
          "model.vocab_size={}, but the stories have {} words; leave it out", model.vocab_size,
          words);
  require(model.head != Head::token && (model.labels == 0 || model.labels == words),
          "model.labels={} (model.head), but answers are one of {} words; leave both out",
          model.labels, words);
  model.vocab_size = words;
  model.architecture->begin_labels(model, Head::sequence, words);
  require(model.context == ModelConfig{}.context || model.context == length,
          "model.context={}, but the longest story has {} words; leave it out", model.context,
          length);
  model.context = length;
}

}  // namespace

void bind(Options& options, StoryTaskConfig& c) {
  options.add("stories.empty", c.empty,
              "model.architecture=memory: in training up to so many moments without a sentence for "
              "each sentence of a story");
}

data::StoryBlend open_stories(const std::vector<std::string>& entries,
                              const std::vector<std::string>& words, const std::string& whose) {
  data::StoryBlend made;
  for (const std::string& text : entries) {
    add_store(text, made);
    const data::StoryRecords& part = made.parts.back();
    const auto& known = words.empty() ? made.parts.front().vocabulary() : words;
    require(part.vocabulary() == known,
            "{} has another vocabulary ({} words, not {}) than {}; make it again with "
            "stories.vocabulary=STORE, one that the model learns or has learnt from",
            part.records().name(), part.vocabulary().size(), known.size(),
            words.empty() ? made.parts.front().records().name() : whose);
  }
  return made;
}

std::unique_ptr<Task> story_task(PretrainConfig& run, const StoryTaskConfig& config) {
  require(!run.data.train.empty(),
          "data.train names no store of stories; make one with `skein-data stories`");
  require(config.empty >= 0 && config.empty <= 1, "stories.empty={} must be from 0 to 1",
          config.empty);
  data::StoryBlend learnt = open_stories(run.data.train);
  const auto& words = learnt.parts.front().vocabulary();
  data::StoryBlend known =
      open_stories(run.data.validation, words, learnt.parts.front().records().name());
  const auto count = std::ssize(words);
  if (run.lr.decay == LrConfig::Decay::automatic) run.lr.decay = LrConfig::Decay::linear;
  auto made = std::make_unique<StoryTask>(run, std::move(learnt), std::move(known), config);
  take_vocabulary(run.model, count, made->length());
  return made;
}

namespace {

struct Counted {
  int64_t questions = 0, right = 0;
  double error() const { return 1 - ratio(right, questions); }
};

}  // namespace

Scores story_scores(const data::StorySamples& samples, const LabelAnswers& answers) {
  std::map<std::string, Counted> tasks;
  Counted all;
  for (int64_t i = 0; i < samples.samples_per_epoch(); ++i) {
    const auto [part, story] = samples.record(i);
    const bool right = story.answer > 0 && answers.best(i, 0) == story.answer;
    for (Counted* const count : {&tasks[part->tasks()[story.task]], &all}) {
      ++count->questions;
      count->right += right;
    }
  }
  double errors = 0;
  for (const auto& [name, count] : tasks) errors += count.error();
  const double mean = errors / static_cast<double>(tasks.size()), accuracy = 1 - all.error();
  Scores made{
      fmt::format("loss {:.4f}, accuracy {:.4f}, mean error of {} tasks {:.2f}% ({} "
                  "questions)",
                  shown_number(answers.loss), accuracy, tasks.size(), 100 * mean, all.questions),
      {{"loss", answers.loss}, {"accuracy", accuracy}, {"mean_error", mean}},
      accuracy};
  for (const auto& [name, count] : tasks) made.values.emplace_back("error_" + name, count.error());
  return made;
}

}  // namespace skein::train
