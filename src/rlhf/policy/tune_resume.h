// Whether a tuned policy's checkpoint can go on with the options of now.
#pragma once

#include <string>

#include "skein/rlhf/policy/ppo.h"

#include "tune_state.h"

namespace skein::rlhf::policy {

// tuned: what the checkpoint `origin` says of itself. Usage errors where its reference, chat
// template or running mean were others.
void check_same_start(const TuneState& tuned, const TuneConfig& config, const Tuning& tuning,
                      const std::string& origin);
// Settings that number answers and steps must stay, else a usage error; others may change: "key:
// old -> new" lines for the log.
std::string compare_settings(const TuneState& tuned, const TuneConfig& config, const Tuning& tuning,
                             const std::string& origin);
// Whether rewards of held-out answers mean what they meant to the checkpoint.
bool judged_as_before(const TuneState& tuned, const TuneConfig& config, const Tuning& tuning);
// config, before the run is claimed: what is refused then ends no older start. Usage errors as
// check_start has them, and for patience without held-out prompts.
const TuneConfig& checked(const TuneConfig& config, const Tuning& tuning, int ranks);

}  // namespace skein::rlhf::policy
