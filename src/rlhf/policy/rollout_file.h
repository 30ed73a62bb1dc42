// RUN/rollouts.jsonl: every answer that was learnt from, with what is known of it, one JSON object
// a line:
//
//   {"step":3,"number":35,"prompt":"...","answer":"...","score":0.5,
//    "scores":{"regex":1.0,"process":-1.0},"reward":0.45,"kl":1.1,"tokens":12,"ended":true}
//
// step: the iteration, from 1; number: of the answer in the run, from 0; prompt: what was asked, or
// "messages", all turns, where there are several; score: the weighted sum of `scores`, which are
// each source's; reward: the score as it was shaped less kl.beta times the KL, be it charged there
// or as a loss; kl: the sum of log-ratios to the reference over the answer's tokens; tokens: of the
// answer, its end included where it ended by itself, as `ended` says.
#pragma once

#include <cstdint>
#include <string>

#include "skein/checkpoint/appended_file.h"
#include "skein/rlhf/policy/ppo.h"

#include "rollout.h"

namespace skein::rlhf::policy {

class RolloutFile {
 public:
  // Collective; rank 0 writes. Keeps the lines of iterations up to `done`, which a run that goes on
  // from there makes no more. An error on every rank where it cannot be read or written.
  RolloutFile(const std::string& path, int64_t done, Group& world);

  // Lines that cannot be written are warned of once, and never end a run.
  void write(int64_t iteration, const Tuning& tuning, const Rollout& rollout);
  // What was written outlives a loss of power from here on: before a checkpoint says that those
  // iterations are done. claim: AppendedFile::sync.
  void sync(const checkpoint::RunClaim* claim);

 private:
  void give_up(const std::string& why);

  std::string path_;
  checkpoint::AppendedFile file_;
};

}  // namespace skein::rlhf::policy
