// What tuning a policy would be, before anything is allocated or written: `skein ppo --dry-run`.
#pragma once

#include <vector>

#include "skein/rlhf/policy/ppo.h"
#include "skein/train/preflight/outlook.h"

namespace skein::rlhf::policy {

// Beside the options.
struct TuneSight {
  const TuneOrigin& origin;
  const std::vector<rewards::Prompt>& prompts;  // to learn from, all of them
  std::vector<ModelConfig> reward_models{};     // that score answers
};

// Collective over world; as train::look_ahead, and compared with the newest checkpoint of the run
// as tune() does. config as settle() leaves it, with the policy's model. Answers are taken to be as
// long as they can be, so work, memory and time are the most that they would be; what scores
// answers without a model of ours does not count.
train::Outlook look_ahead(const TuneConfig& config, const TuneSight& sight, Group& world);

}  // namespace skein::rlhf::policy
