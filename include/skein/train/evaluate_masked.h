// How well an encoder finds the masked tokens of held-out text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/numbers.h"
#include "skein/core/values.h"
#include "skein/data/samples/masked_loader.h"
#include "skein/train/task.h"

namespace skein::train {

struct MaskedEvaluation {
  double nats = 0;     // sum over the masked tokens
  int64_t tokens = 0;  // that were masked
  int64_t right = 0;   // of them the model's first choice was right
  // of them are the token that is masked most often: as many a constant guess gets right at best
  int64_t commonest = 0;
  double pair_nats = 0;
  int64_t pairs = 0, pairs_right = 0;  // 0 without pairs

  double loss() const { return nats / tokens; }
  double accuracy() const { return ratio(right, tokens); }
  double guess() const { return ratio(commonest, tokens); }
  // "loss 3.21, 41.3% of 12k masked tokens right (the commonest token: 5.2%)"
  std::string text() const;
  NamedValues values() const;
};

// Held-out samples. Their masks never change.
std::unique_ptr<data::MaskedLoader> validation_samples(const std::vector<std::string>& entries,
                                                       int64_t length, const data::DataConfig& data,
                                                       const data::MaskConfig& mask);

// Collective. The first `count` samples of the loader's first epoch, all for 0. The same bits at
// every data- and pipeline-parallel layout.
MaskedEvaluation evaluate_masked(const EvaluatedModel& model, const data::MaskedLoader& samples,
                                 int64_t count);

}  // namespace skein::train
