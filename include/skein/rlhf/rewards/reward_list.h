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
// Rewards that a run would have, without the weights of models and without a process.
struct ForeseenRewards {
  RewardMixture rewards;  // prompts can be checked by them; not all can score
  std::vector<ModelConfig> models;
};
// Collective. Usage errors as make_rewards.
ForeseenRewards foresee_rewards(const RewardOptions& config, Group& world);

}  // namespace skein::rlhf::rewards
