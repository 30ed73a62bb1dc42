// Prompts that the policy does not learn from, answered now and then: what it has come to, and
// which of its weights are the best.
#pragma once

#include "skein/rlhf/policy/ppo.h"
#include "skein/train/task.h"

#include "actors.h"

namespace skein::rlhf::policy {

class HeldOutAnswers {
 public:
  // All outlive it; tuning.held_out is not null.
  HeldOutAnswers(const TuneConfig& config, const Tuning& tuning, Actors& actors, Mesh& mesh);

  // Collective. An answer to each prompt by the policy as it is, sampled as it samples to learn,
  // but always by the same draws, so that evaluations differ by the policy alone. quality: the mean
  // reward, which is the score as it is shaped less kl.beta times the KL. The same bits at every
  // data- and pipeline-parallel layout. meeting: where it may be interrupted.
  train::Scores evaluate(Meeting& meeting);

 private:
  const TuneConfig& config_;
  const Tuning& tuning_;
  Actors& actors_;
  generate::Generator generator_;
};

}  // namespace skein::rlhf::policy
