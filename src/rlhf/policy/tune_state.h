// What a checkpoint of a tuned policy says beside that of any run: RunState::notes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "skein/rlhf/policy/ppo_config.h"
#include "skein/text/template.h"
#include "skein/train/task_notes.h"

namespace skein::rlhf::policy {

struct TuneState {
  int64_t iterations = 0;  // done
  // optimizer steps of the policy's schedule, those left out by ppo.stop_kl or critic.warmup
  // included
  int64_t updates = 0;
  int64_t critic_steps = 0;
  int64_t negative_kl = 0;    // latest iterations in a row with a KL that cannot be
  double ema = 0;             // ppo.ema: with one above 0 the checkpoint holds the running mean
  double kl_beta = 0;         // see next_beta
  text::StoredTemplate chat;  // the template; none for none
  std::string start;          // checkpoint that the reference is
  uint32_t start_sum = 0;     // CheckpointInfo::sum of it; 0 where it is not known
  double critic_mean = 0, critic_deviation = 1;  // as ValueRules has them
  std::map<std::string, std::string> settings;   // as tune_settings gives them
};

// What learning hangs on and no other part of a checkpoint tells, by key: options, and what
// `beside` has (Tuning::settings).
std::map<std::string, std::string> tune_settings(const TuneConfig& config,
                                                 const std::map<std::string, std::string>& beside);

train::TaskNotes to_notes(const TuneState& state);
// A usage error naming `origin` when the notes are none of such a run.
TuneState tune_state(const train::TaskNotes& notes, const std::string& origin);

}  // namespace skein::rlhf::policy
