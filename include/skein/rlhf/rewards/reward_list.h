// reward.sources, as commands are given it.
#pragma once

#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/parallel/precision.h"
#include "skein/rlhf/rewards/reward_model_source.h"

namespace skein::rlhf::rewards {

struct RewardOptions {
  std::string sources;
  double process_seconds = 60;
};

void bind(Options& options, RewardOptions& config);

// Collective over mesh, which outlives the sources. policy: whose answers are scored; batch:
// answers that a model scores together. Usage errors as make_rewards.
RewardMixture make_rewards(const RewardOptions& config, const PolicyText& policy,
                           const ParallelConfig& layout, DType precision, int64_t batch,
                           Mesh& mesh);
// Collective. Those of the sources that are models, without their weights.
std::vector<ModelConfig> reward_models(const RewardOptions& config, Group& world);

}  // namespace skein::rlhf::rewards
