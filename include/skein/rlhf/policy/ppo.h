// Tuning a policy by rewards: it answers prompts, the answers are scored, and it learns from them,
// with PPO (Schulman et al. 2017; for language models Ziegler et al. 2019) or with baselines from
// several answers to a prompt (RLOO, GRPO). Policy, reference, critic and generation share one mesh
// and one set of the policy's weights.
//
// A run is a function of its options and its data: the same bits at every data- and
// pipeline-parallel layout and micro-batch, and after every resume. With held-out prompts the
// weights whose answers to them have the highest mean reward are kept in run.dir/best, where
// find_weights takes them. What is decided for an iteration hangs on its number alone, so a killed
// one is made again with the same bits.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/core/values.h"
#include "skein/data/stores/data_file.h"
#include "skein/rlhf/policy/episodes.h"
#include "skein/rlhf/policy/ppo_config.h"
#include "skein/rlhf/rewards/rewards.h"
#include "skein/train/chats/chat_data.h"

namespace skein::rlhf::policy {

// What a policy begins from; its checkpoints remember it, and go on with the same alone.
struct TuneOrigin {
  checkpoint::CheckpointInfo start;  // the policy to begin from; always the reference
  const text::Tokenizer& tokenizer;
  text::StoredTemplate chat{};
  // what else learning hangs on, by name, beside the options
  std::map<std::string, std::string> settings{};
  // refuses to go on with settings other than it began with, instead of telling them
  bool settings_stay = false;
};

// What a policy is tuned with, beside the options.
struct Tuning : TuneOrigin {
  const Prompts& prompts;
  rewards::RewardMixture& rewards;
  int32_t end = -1;  // the token that ends an answer
  // ids that are never sampled, and that neither policy nor reference gives any probability
  std::vector<int64_t> banned{};
  train::InstructionNotes instructions{};  // of the policy to begin from; checkpoints keep them
  // what an answer's tokens say; null: all they decode to
  std::function<std::string(const std::vector<int32_t>&)> answer_text{};
  const std::vector<rewards::Prompt>* held_out = nullptr;  // prompts to evaluate on; null: none
  std::vector<data::DataFile> files{};                     // that the prompts were read of

  std::string text_of(const std::vector<int32_t>& tokens) const {
    return answer_text ? answer_text(tokens) : tokenizer.decode(tokens);
  }
};

struct TuneResult {
  std::vector<NamedValues> iterations;  // what metrics.jsonl says of each iteration of this start
  int64_t done = 0;                     // iterations in all
  bool stopped = false;                 // was asked to stop before ppo.iterations
  bool committed = false;               // its folder holds a checkpoint
};

// Collective over world. config as settle() leaves it, with config.run.model the policy's. Goes on
// from the newest good checkpoint in config.run.dir, if there is one. Error(failure) for what makes
// learning meaningless, naming the cause. judged: answers whose tokens get their log-probabilities
// under the tuned policy and the reference, unless the run was stopped.
TuneResult tune(const TuneConfig& config, const Tuning& tuning, Group& world,
                const std::string& resolved = "", std::vector<Episode>* judged = nullptr);

// The policy's model as it learns: with a head of values where the critic is shared.
ModelConfig policy_model(const TuneConfig& config);
// ModelConfig of the critic that a policy's config implies.
ModelConfig critic_model(const ModelConfig& policy);

}  // namespace skein::rlhf::policy
