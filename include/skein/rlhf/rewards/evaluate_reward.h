// How well a reward model does on preferences.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/parallel/layout.h"
#include "skein/rlhf/rewards/preference_report.h"

namespace skein::rlhf::rewards {

// Collective. The report of the files' preferences, also told in the log, with its warning. path:
// of the reward model, as RewardModel has it.
PreferenceReport evaluate_reward(const std::string& path, const std::vector<std::string>& files,
                                 const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein::rlhf::rewards
