#include "skein/rlhf/rewards/reward_list.h"

#include "skein/core/error.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {

void bind(Options& options, RewardOptions& c) {
  options.add("reward.sources", c.sources,
              "where scores come from: \"model:FOLDER; 0.1*regex:PATTERN; process:COMMAND\" and "
              "others, see docs/rlhf.md");
  options.add("reward.process_seconds", c.process_seconds,
              "longest time that a process may take to score all answers it is given at once",
              "seconds");
}

RewardMixture make_rewards(const RewardOptions& c, const PolicyText& policy,
                           const ParallelConfig& layout, DType precision, int64_t batch,
                           Mesh& mesh) {
  const auto model = [&](const RewardSpec& spec) -> std::unique_ptr<RewardSource> {
    return std::make_unique<RewardModelSource>(spec.argument, policy, layout, precision, batch,
                                               mesh);
  };
  return make_rewards(c.sources, {mesh.world(), c.process_seconds, {{"model", {model}}}});
}

ForeseenRewards foresee_rewards(const RewardOptions& c, Group& world) {
  std::vector<ModelConfig> models;
  const auto model = [&](const RewardSpec& spec) -> std::unique_ptr<RewardSource> {
    models.push_back(open_reward_model(spec.argument, world).model);
    return foreseen_reward(spec);
  };
  RewardMixture rewards =
      make_rewards(c.sources, {world, c.process_seconds, {{"model", {model}}}, true});
  return {std::move(rewards), std::move(models)};
}

}  // namespace skein::rlhf::rewards
