// What a model says of pictures or of their hidden patches, and how good that is.
#pragma once

#include <string>

#include "skein/data/images/image_samples.h"
#include "skein/train/tasks/label_scores.h"

namespace skein::train {

// Collective, as label_answers. samples: in OrderKind::once, and nothing is changed at random.
LabelAnswers image_answers(const EvaluatedModel& model, const data::ImageSamples& samples,
                           int64_t outputs);

// How many pictures of each class (the row) were said to be of each (the column).
std::vector<std::vector<int64_t>> confusions(const data::ImageSamples& samples,
                                             const LabelAnswers& answers, int64_t classes);

// Accuracy of the likeliest class and of the five likeliest, loss, macro F1 and calibration error;
// quality is the head's metric. Values are named without a prefix.
Scores image_scores(const LabelHead& head, const data::ImageSamples& samples,
                    const LabelAnswers& answers);

// Collective. Of a model that says hidden patches, over samples alike: the loss, whose opposite is
// the quality.
Scores hidden_patch_scores(const EvaluatedModel& model, const data::ImageSamples& samples);
// Collective. The first of these pictures, what is seen of them, and what the model makes of them,
// each in a row: the bytes of a PNG file.
std::string rebuilt_sheet(const EvaluatedModel& model, const data::ImageSamples& samples);

}  // namespace skein::train
