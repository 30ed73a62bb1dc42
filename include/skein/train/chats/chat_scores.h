// How well a decoder predicts the answers of conversations.
#pragma once

#include "skein/data/samples/chat_samples.h"
#include "skein/train/task.h"

namespace skein::train {

// Collective, the same bits at every data- and pipeline-parallel layout: the mean loss of the
// answers' tokens, each answer's end included, its perplexity, and the share of tokens that are the
// model's first choice. samples: at least one row. vocabulary: the number of ids of the model.
Scores answer_scores(const EvaluatedModel& model, const data::ChatSamples& samples,
                     int64_t vocabulary);

// Logs a line that says what the samples are, and warnings where conversations are left out or lose
// answers. what: what they are for, such as "training".
void tell_samples(const data::ChatSamples& samples, const std::string& what,
                  const std::string& chat_template);

}  // namespace skein::train
