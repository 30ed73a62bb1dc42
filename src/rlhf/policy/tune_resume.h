// Whether a tuned policy's checkpoint can go on with the options of now.
#pragma once

#include <string>

#include "skein/rlhf/policy/ppo.h"
#include "skein/train/run_state.h"

#include "tune_state.h"

namespace skein::rlhf::policy {

// The run as checkpoints tell it.
train::PretrainConfig written_run(const TuneConfig& config);
// stored, tuned: what the checkpoint `own` says of itself. Usage errors where its reference, chat
// template or running mean were others, or settings that number answers and steps, and as
// compare_with_stored has them; others may change: "key: old -> new" lines for tell_changes.
std::string compare_with_own(const checkpoint::CheckpointInfo& own, const train::RunState& stored,
                             const TuneState& tuned, const TuneConfig& config,
                             const TuneOrigin& origin);
// Whether rewards of held-out answers mean what they meant to the checkpoint.
bool judged_as_before(const TuneState& tuned, const TuneConfig& config, const TuneOrigin& origin);
// config, before the run is claimed: what is refused then ends no older start. Usage errors as
// check_start has them, and for patience without held-out prompts.
const TuneConfig& checked(const TuneConfig& config, const Tuning& tuning, int ranks);

}  // namespace skein::rlhf::policy
