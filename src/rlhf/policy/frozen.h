#pragma once

#include "skein/checkpoint/checkpoint.h"
#include "skein/rlhf/policy/objective.h"
#include "skein/train/config.h"
#include "skein/train/trained_model.h"

namespace skein::rlhf::policy {

// Collective over mesh, which outlives the model. A policy with the weights of a checkpoint, which
// stay. Its answers are those of PolicyObjective, without values.
std::unique_ptr<train::LoadedModel> frozen_policy(const train::PretrainConfig& config, Mesh& mesh,
                                                  const PolicyDistribution& distribution,
                                                  const checkpoint::CheckpointInfo& weights);

}  // namespace skein::rlhf::policy
