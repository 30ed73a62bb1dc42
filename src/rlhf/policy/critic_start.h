// What a critic of its own begins with.
#pragma once

#include <optional>

#include "skein/rlhf/policy/ppo.h"

namespace skein::rlhf::policy {

struct CriticStart {
  // none: the policy's weights, with a new head of zeros
  std::optional<checkpoint::CheckpointInfo> from;
  double mean = 0, deviation = 1;  // a value is (what the model says - mean) / deviation
};

// Collective. As critic.load says: a reward model's scores have the mean 0 and deviation 1 of its
// reference answers, as the rewards that it gives have. A usage error for a checkpoint with another
// tokenizer than the policy's.
CriticStart critic_start(const TuneConfig& config, const Tuning& tuning, Group& world);

}  // namespace skein::rlhf::policy
