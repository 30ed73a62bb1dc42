// What a reward model learns: the losses of ops/preference.h, one a prompt.
#pragma once

#include <vector>

#include "skein/models/model.h"
#include "skein/ops/preference.h"
#include "skein/train/judge.h"

namespace skein::rlhf::rewards {

// For batches of PreferenceSamples.
class PreferenceObjective : public Objective {
 public:
  PreferenceObjective(const Scorer& scorer, const ops::PreferenceLossConfig& config)
      : scorer_(scorer), config_(config) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  // The scores, [B,K,1] f32.
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  const Scorer& scorer_;
  ops::PreferenceLossConfig config_;
};

struct PreferenceScores {
  Tensor scores;    // [samples,K] f32, raw; meaningless where there are fewer answers
  double loss = 0;  // mean over the samples
};

// Collective; the same bits on every rank and at every data- and pipeline-parallel layout. The
// model's objective is the above; samples: not shuffled.
PreferenceScores preference_scores(const train::EvaluatedModel& model,
                                   const data::PreferenceSamples& samples);

}  // namespace skein::rlhf::rewards
