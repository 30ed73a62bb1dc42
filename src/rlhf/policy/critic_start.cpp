#include "critic_start.h"

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/rlhf/rewards/reward_form.h"
#include "skein/train/run_state.h"
#include "skein/train/run_weights.h"

namespace skein {

CriticStart critic_start(const TuneConfig& config, const Tuning& tuning, Group& world) {
  if (!config.has_critic() || config.critic.load.empty()) return {};
  CriticStart start{find_weights(config.critic.load, world)};
  require(start.from.has_value(), "critic.load={}", no_checkpoint(config.critic.load));
  const RunState stored = run_state(start.from->metadata, start.from->path);
  require(stored.tokenizer.text() == tuning.tokenizer.to_json(),
          "critic.load={} was trained with another tokenizer than the policy", config.critic.load);
  if (const auto head = reward_head(stored.notes, start.from->path)) {
    start.mean = head->mean;
    start.deviation = head->deviation;
    log::info("the critic's values are (score - {:.4g}) / {:.4g}, as the rewards of that model",
              start.mean, start.deviation);
  }
  return start;
}

}  // namespace skein
