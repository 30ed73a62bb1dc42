// A model that only says what it thinks.
#pragma once

#include "skein/checkpoint/checkpoint.h"
#include "skein/parallel/local_model.h"
#include "skein/rlhf/policy/objective.h"
#include "skein/train/config.h"
#include "skein/train/task.h"

namespace skein::rlhf::policy {

// A policy with the weights of a checkpoint, which stay. Its answers are those of PolicyObjective,
// without values.
class FrozenPolicy {
 public:
  // Collective.
  FrozenPolicy(const train::PretrainConfig& config, Mesh& mesh,
               const PolicyDistribution& distribution, const checkpoint::CheckpointInfo& weights);
  train::EvaluatedModel evaluated_model(int64_t batch);

 private:
  Mesh& mesh_;
  LocalModel model_;
  Pipeline pipeline_;
};

}  // namespace skein::rlhf::policy
