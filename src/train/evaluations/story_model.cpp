#include "skein/train/evaluations/story_model.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/train/attention/maps.h"
#include "skein/train/tasks/story_task.h"

namespace skein::train {
namespace {

LabelHead story_head_in(const TrainedModel& source) {
  const auto head = label_head(source.state.notes, source.info.path);
  require(
      head && head->outputs() == source.model.vocab_size,
      "the notes of {} do not say which {} words the model knows; it was not trained on stories",
      source.info.path, source.model.vocab_size);
  return *head;
}

std::string words_of(const std::vector<std::string>& vocabulary, const data::StoryRecord& story,
                     int64_t sentence) {
  std::vector<std::string> made;
  for (int64_t at = story.starts[sentence]; at < story.starts[sentence + 1]; ++at)
    made.push_back(vocabulary[story.words[at]]);
  return fmt::format("{}", fmt::join(made, " "));
}

// By sentence of weights by age.
std::vector<double> by_sentence(const AttentionMap& map, int64_t sentences) {
  std::vector<double> made(sentences);
  const int64_t known = std::min(sentences, map.weights.dim(2));
  for (int64_t age = 0; age < known; ++age)
    made[sentences - 1 - age] = map.weights.data<double>()[age];
  return made;
}

}  // namespace

int64_t StoryAnswer::top(size_t hop) const {
  const auto& of = weights.at(hop);
  return of.empty() ? -1 : std::ranges::max_element(of) - of.begin();
}

std::string StoryAnswer::text() const {
  std::string made =
      fmt::format("{}: {} ? {} (said: {}, {:.3f})", task, question, truth, said, score);
  for (int64_t sentence = 0; sentence < std::ssize(sentences); ++sentence) {
    made += "\n ";
    for (const auto& hop : weights) made += fmt::format(" {:6.3f}", hop[sentence]);
    const bool supports = std::ranges::find(support, sentence) != support.end();
    made += fmt::format(" {} {}", supports ? '*' : ' ', sentences[sentence]);
  }
  return made;
}

StoryModel::StoryModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype,
                       int64_t batch, Group& world)
    : name_(source.info.path),
      head_(story_head_in(source)),
      memories_(source.model.architecture->memories(source.model)),
      model_(source, parallel, dtype, world),
      batch_(batch) {}

data::StorySamples StoryModel::samples(const std::vector<std::string>& stores) const {
  return {open_stories(stores, head_.labels, name_),
          {.memories = memories_, .order = data::OrderKind::once}};
}

LabelAnswers StoryModel::answers(const data::StorySamples& samples) {
  return label_answers(model_.evaluated(batch_), samples, samples.samples_per_epoch(), 1,
                       head_.outputs());
}

StoryAnswer StoryModel::answer(const data::StorySamples& samples, const LabelAnswers& answers,
                               int64_t number) {
  const auto [part, story] = samples.record(number);
  const auto& words = part->vocabulary();
  const int32_t best = answers.best(number, 0);
  StoryAnswer made{.task = part->tasks()[story.task],
                   .question = words_of(words, story, story.sentences()),
                   .sentences = {},
                   .support = story.support,
                   .truth = words[story.answer],
                   .said = words[best],
                   .score = shares(answers, number, 0)[best],
                   .weights = {}};
  for (int64_t i = 0; i < story.sentences(); ++i)
    made.sentences.push_back(words_of(words, story, i));
  AttendedText asked;
  asked.batch = samples.batch(number, 1);
  for (const AttentionMap& map : attention_maps(asked, model_.evaluated()))
    made.weights.push_back(by_sentence(map, story.sentences()));
  return made;
}

}  // namespace skein::train
