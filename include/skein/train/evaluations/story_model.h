// A trained model of stories at work.
#pragma once

#include <string>
#include <vector>

#include "skein/data/stories/story_samples.h"
#include "skein/train/tasks/label_scores.h"
#include "skein/train/trained_model.h"

namespace skein::train {

// What a model says of a question and how it has come to that.
struct StoryAnswer {
  std::string task, question;
  std::vector<std::string> sentences;
  std::vector<int64_t> support;              // of these, where the store tells it
  std::string truth, said;                   // words
  double score = 0;                          // probability of what was said
  std::vector<std::vector<double>> weights;  // of each hop and sentence; 0 where it is forgotten

  // The sentence of the largest weight in a hop, the first of several; -1 where there is none.
  int64_t top(size_t hop) const;
  // A line a sentence: its weights by hop, * where it supports the answer, its words.
  std::string text() const;
};

class StoryModel {
 public:
  // Collective. batch: questions a forward pass. A usage error for a checkpoint that was not
  // trained on stories.
  StoryModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype, int64_t batch,
             Group& world);

  // Stores of the model's vocabulary, one after the other. Usage errors as open_stories.
  data::StorySamples samples(const std::vector<std::string>& stores) const;
  // Collective. Of all samples.
  LabelAnswers answers(const data::StorySamples& samples);
  // Collective. One of them, by its number.
  StoryAnswer answer(const data::StorySamples& samples, const LabelAnswers& answers,
                     int64_t number);

 private:
  std::string name_;
  LabelHead head_;
  int64_t memories_;
  LoadedModel model_;
  int64_t batch_;
};

}  // namespace skein::train
