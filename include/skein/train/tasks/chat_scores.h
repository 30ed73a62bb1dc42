// How well a decoder predicts the answers of conversations.
#pragma once

#include "skein/data/samples/chat_samples.h"
#include "skein/train/task.h"

namespace skein {

// Collective, the same bits at every data- and pipeline-parallel layout: mean loss of the answers'
// tokens, each answer's end included, its perplexity, and the share of tokens that are the model's
// first choice. samples has rows; vocabulary: of the model.
Scores answer_scores(const Judged& model, const ChatSamples& samples, int64_t vocabulary);

// A line for the log on what the samples are, and warnings where conversations are left out or lose
// answers. what: "training".
void tell_samples(const ChatSamples& samples, const std::string& what,
                  const std::string& chat_template);

}  // namespace skein
