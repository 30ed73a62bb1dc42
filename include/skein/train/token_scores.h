// How well a model predicts the tokens of samples: their loss, and how many it would have said
// itself.
#pragma once

#include <cstdint>
#include <string>

#include "skein/core/values.h"
#include "skein/train/task.h"

namespace skein::train {

struct TokenScores {
  double nats = 0;     // sum over the tokens that count
  int64_t tokens = 0;  // that count
  int64_t right = 0;   // of them are the model's first choice

  double loss() const;        // nats a token
  double perplexity() const;  // exp(loss)
  double accuracy() const;
  // "loss 2.3100, perplexity 10.07, 41.3% of 12k answer tokens right", which are `called` so.
  std::string text(const std::string& called) const;
  // loss, perplexity and token_accuracy.
  NamedValues values() const;

  void add(const TokenScores& other);
};

// Collective. Samples [0, count), at each of whose `places` the model gives `vocabulary` logits; as
// many go through it at once as these leave room for, at most model.batch. The same bits at every
// data- and pipeline-parallel layout. May be interrupted at model.meeting.
TokenScores token_scores(const EvaluatedModel& model, const data::SampleSource& samples,
                         int64_t count, int64_t places, int64_t vocabulary);

// The model with as many samples of a forward pass as leave room for such logits.
EvaluatedModel with_room_for_logits(const EvaluatedModel& model, int64_t places,
                                    int64_t vocabulary);

}  // namespace skein::train
