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
  return make_rewards(c.sources, {mesh.world(), c.process_seconds, {{"model", model}}});
}

namespace {

class Foreseen : public RewardSource {
 public:
  explicit Foreseen(const RewardSpec& spec) : name_(spec.text()) {}
  std::string name() const override { return name_; }
  std::vector<double> scores(std::span<const Answer>) override {
    fail("the reward {} was only looked at", name_);
  }

 private:
  std::string name_;
};

}  // namespace

ForeseenRewards foresee_rewards(const RewardOptions& c, Group& world) {
  std::vector<ModelConfig> models;
  const auto model = [&](const RewardSpec& spec) -> std::unique_ptr<RewardSource> {
    models.push_back(open_reward_model(spec.argument, world).model);
    return std::make_unique<Foreseen>(spec);
  };
  const auto process = [&](const RewardSpec& spec) -> std::unique_ptr<RewardSource> {
    check_process(spec, c.process_seconds);
    return std::make_unique<Foreseen>(spec);
  };
  RewardMixture rewards =
      make_rewards(c.sources, {world, c.process_seconds, {{"model", model}, {"process", process}}});
  return {std::move(rewards), std::move(models)};
}

}  // namespace skein::rlhf::rewards
