// What a model says of graphs or their nodes, and how good that is.
#pragma once

#include "skein/data/graphs/graph_samples.h"
#include "skein/train/tasks/label_scores.h"

namespace skein::train {

// Collective, as label_answers. samples: in OrderKind::once.
LabelAnswers graph_answers(const EvaluatedModel& model, const data::GraphSamples& samples,
                           int64_t outputs);
// Of classes loss, accuracy, macro F1, Matthews' coefficient and calibration error, and quality is
// accuracy; of numbers, in the data's units, root mean squared error, whose opposite is quality,
// mean absolute error, and both correlations; of pairs of nodes by how surely they are linked loss,
// the area under the ROC curve, which is quality, average precision, accuracy and hits@20, 50 and
// 100 (train/scores.h). Values are named without a prefix.
Scores graph_scores(const LabelHead& head, const data::GraphSamples& samples,
                    const LabelAnswers& answers);

}  // namespace skein::train
