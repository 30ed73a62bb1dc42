// How well a model that reads noised text restores it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/values.h"
#include "skein/data/noise/denoising_loader.h"
#include "skein/models/config.h"
#include "skein/train/config.h"
#include "skein/train/token_scores.h"

namespace skein::train {

// Places that the model has on either side.
data::DenoisingRows denoising_rows(const ModelConfig& model, const ParallelConfig& parallel);

// What such a model learns: the loss of all tokens of the target. In an evaluation that loss is two
// terms instead, of tokens that the source hides and of those that it shows (data::Batch::known).
// model: of the last stage.
std::unique_ptr<Objective> denoising_objective(const LocalModel& model, const LossConfig& loss);

struct DenoisedEvaluation {
  TokenScores hidden, shown;  // some noise hides nothing

  TokenScores all() const;
  // "loss 1.2000, of 12k hidden tokens 2.9000 and 40.1% right, of 70k shown tokens 0.1000 and 99.0%
  // right"
  std::string text() const;
  // loss and perplexity; hidden_loss, hidden_accuracy, shown_loss, shown_accuracy.
  NamedValues values() const;
};

// Held-out samples. Their noise never changes.
std::unique_ptr<data::DenoisingLoader> validation_samples(const std::vector<std::string>& entries,
                                                          const data::DenoisingRows& rows,
                                                          const data::DataConfig& data,
                                                          const data::NoiseConfig& noise);

// Collective. The first `count` samples of the loader's first epoch, all for 0. The model learns
// denoising_objective. The same bits at every data- and pipeline-parallel layout.
DenoisedEvaluation evaluate_denoised(const EvaluatedModel& model,
                                     const data::DenoisingLoader& samples, int64_t count);

}  // namespace skein::train
