#include "skein/rlhf/rewards/reward_list.h"

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
  return make_rewards(c.sources, {mesh.world(), c.process_seconds, {{"model", model}}});
}

std::vector<ModelConfig> reward_models(const RewardOptions& c, Group& world) {
  std::vector<ModelConfig> made;
  for (const RewardSpec& spec : parse_rewards(c.sources))
    if (spec.kind == "model") made.push_back(open_reward_model(spec.argument, world).model);
  return made;
}

}  // namespace skein::rlhf::rewards
