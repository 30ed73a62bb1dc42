#include "critic_start.h"

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/rlhf/rewards/reward_form.h"
#include "skein/train/run_state.h"
#include "skein/train/run_weights.h"

namespace skein::rlhf::policy {

CriticStart critic_start(const TuneConfig& config, const Tuning& tuning, Group& world) {
  if (!config.has_critic() || config.critic.load.empty()) return {};
  CriticStart start{train::find_weights(config.critic.load, world)};
  require(start.from.has_value(), "critic.load={}", checkpoint::no_checkpoint(config.critic.load));
  const train::RunState stored = train::run_state(start.from->metadata, start.from->path);
  require(stored.tokenizer.text() == tuning.tokenizer.to_json(),
          "critic.load={} was trained with another tokenizer than the policy", config.critic.load);
  if (const auto head = rewards::reward_head(stored.notes, start.from->path)) {
    start.mean = head->mean;
    start.deviation = head->deviation;
    log::info("the critic's values are (score - {:.4g}) / {:.4g}, as the rewards of that model",
              start.mean, start.deviation);
  }
  return start;
}

}  // namespace skein::rlhf::policy
