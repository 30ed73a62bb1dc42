// What a head of labels says of samples, and how good that is.
#pragma once

#include <vector>

#include "skein/train/task.h"
#include "skein/train/tasks/label_data.h"

namespace skein::train {

// The model's numbers for every place of every sample.
struct LabelAnswers {
  Tensor scores;  // [samples,P,outputs] f32
  // mean over the places that count, nats, or of squares of a regression; 0 where nothing is known
  double loss = 0;

  const float* at(int64_t sample, int64_t place) const {
    return scores.data<float>() + (sample * scores.dim(1) + place) * scores.dim(2);
  }
  int32_t best(int64_t sample, int64_t place) const;
};

// Collective; the answers are the same bits on every rank and at every data- and pipeline-parallel
// layout. samples: not shuffled.
LabelAnswers label_answers(const EvaluatedModel& model, const data::LabelSamples& samples,
                           int64_t outputs);
// The same of samples [0, count) with so many places each.
LabelAnswers label_answers(const EvaluatedModel& model, const data::SampleSource& samples,
                           int64_t count, int64_t places, int64_t outputs);

// The probabilities of the classes at a place: the softmax of its scores.
std::vector<double> shares(const LabelAnswers& answers, int64_t sample, int64_t place);
// A regression's number for a sample.
double value_of(const LabelHead& head, const LabelAnswers& answers, int64_t sample);
// Label ids of each sentence's words.
std::vector<std::vector<int32_t>> tags_of(const LabelData& data, const LabelAnswers& answers);

// Compares the answers with what is known of the data. Values are named without a prefix; quality
// is the head's metric.
Scores score(const LabelHead& head, const LabelData& data, const LabelAnswers& answers);

}  // namespace skein::train
