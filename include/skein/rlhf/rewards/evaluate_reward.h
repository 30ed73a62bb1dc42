// How well a reward model does on preferences.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/options/options.h"
#include "skein/parallel/layout.h"
#include "skein/rlhf/rewards/preference_files.h"
#include "skein/rlhf/rewards/preference_report.h"

namespace skein::rlhf::rewards {

struct RewardEvaluation {
  const std::string& path;  // of the reward model, as RewardModel has it
  const std::vector<std::string>& files;
  // how they are read; its chat template and length are not used: those of the model count
  const PreferenceTaskConfig& config;
  // that config is bound to (bind_reading): what was not asked for is as in the training
  Options& options;
  const ParallelConfig& parallel;
  int64_t batch = 1;  // answers a forward pass
};

// Collective. The report of the files' preferences, also told in the log, with its warning.
PreferenceReport evaluate_reward(const RewardEvaluation& asked, Group& world);

}  // namespace skein::rlhf::rewards
