// `skein eval` of reward models, and what is told of their reports.
#pragma once

#include "skein/data/records/preferences.h"
#include "skein/rlhf/rewards/preference_report.h"

#include "command.h"

namespace skein {

// A warning where length alone explains what people preferred.
void tell_length_warning(const PreferenceReport& report);

// Whether the checkpoint holds a reward model.
bool is_reward_model(const Source& source);

// Collective. The report of the files' preferences, also told in the log.
PreferenceReport evaluate_reward(const std::string& path, const std::vector<std::string>& files,
                                 const ParallelConfig& parallel, int64_t batch, Group& world);

}  // namespace skein
