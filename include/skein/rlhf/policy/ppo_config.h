// Everything that tuning a policy by rewards is told.
#pragma once

#include <string>
#include <vector>

#include "skein/generate/generator.h"
#include "skein/rlhf/policy/advantage.h"
#include "skein/rlhf/policy/kl.h"
#include "skein/rlhf/policy/objective.h"
#include "skein/train/config.h"

namespace skein::rlhf::policy {

struct PpoConfig {
  enum class Algorithm { ppo, rloo, grpo };
  Algorithm algorithm = Algorithm::ppo;
  int64_t iterations = 100;
  int64_t rollout_batch = 64;  // episodes an iteration; train.global_batch of them make a minibatch
  int64_t answers = 0;         // to each prompt; 0: 1 for ppo, 4 for the others
  int64_t epochs = 0;          // over an iteration's episodes; 0: 4 for ppo, 1 for the others
  PolicyClip clip;
  double gamma = 1, lambda = 0.95;
  bool whiten = true;  // advantages, over the iteration
  // grpo: divides advantages by the deviation of their prompt's rewards; false: Dr. GRPO (Liu et
  // al. 2025).
  bool divide_by_std = true;
  bool kl_in_reward = false;  // grpo: charges the KL in an answer's reward, as rloo; else a loss
  double entropy = 0;
  // of the KL as a loss; -1: kl.beta where the reward does not have it, 0 where it does
  double kl_loss = -1;
  KlEstimator kl_loss_estimator = KlEstimator::k2;
  Aggregation aggregation = Aggregation::token_mean;
  // of the policy's weights, kept beside them: so much of it stays at each step; 0: none
  double ema = 0;
  // the rest of an iteration's epochs is left out once approx_kl is beyond 1.5 times this; 0: never
  double stop_kl = 0;
  int64_t shown = 1;           // answers shown at each progress line
  bool save_rollouts = false;  // all answers with their scores in run.dir/rollouts.jsonl

  int64_t answers_each() const { return answers ? answers : algorithm == Algorithm::ppo ? 1 : 4; }
  int64_t epochs_each() const { return epochs ? epochs : algorithm == Algorithm::ppo ? 4 : 1; }
};

struct CriticConfig {
  enum class Kind { separate, shared };
  Kind kind = Kind::separate;
  // checkpoint of a reward model or a critic to begin from; "": the policy's weights, with a new
  // head of zeros
  std::string load;
  double lr = 0;       // 0: lr.lr
  int64_t warmup = 0;  // iterations in which the policy does not learn
  ValueRules rules;
};

// Texts that the policy learns to predict beside its answers, in the same steps (PPO-ptx, Ouyang et
// al. 2022).
struct PtxConfig {
  std::vector<std::string> data;  // token stores as in DataConfig::train; empty: none
  double coefficient = 1;         // of their mean loss over tokens
  int64_t batch = 0;              // texts a step, over all ranks; 0: train.global_batch
  int64_t length = 0;             // tokens of each; 0: the model's context
};

struct TuneConfig {
  // its checkpoint.load is the policy to begin from, and the reference; train.global_batch a
  // minibatch
  train::PretrainConfig run;
  PpoConfig ppo;
  PtxConfig ptx;
  CriticConfig critic;
  KlConfig kl;
  ShapingConfig shaping;
  generate::GenerateConfig generate;

  // The rewards that are learnt from have kl.beta times the KL taken from them; else the KL is a
  // loss alone.
  bool kl_in_reward() const {
    return ppo.algorithm != PpoConfig::Algorithm::grpo || ppo.kl_in_reward;
  }
  double kl_loss() const { return ppo.kl_loss >= 0 ? ppo.kl_loss : kl_in_reward() ? 0 : kl.beta; }
  // A critic that is a model of its own.
  bool has_critic() const {
    return ppo.algorithm == PpoConfig::Algorithm::ppo &&
           critic.kind == CriticConfig::Kind::separate;
  }
  // One that is a head of the policy's model.
  bool has_shared_critic() const {
    return ppo.algorithm == PpoConfig::Algorithm::ppo && critic.kind == CriticConfig::Kind::shared;
  }
};

// Other defaults than pretraining has; docs/rlhf.md says where each comes from.
TuneConfig tune_defaults();
void bind(Options& options, TuneConfig& config);
// Usage errors with both numbers for what cannot be, alone or together. Fills in what hangs on the
// algorithm.
void settle(TuneConfig& config);

// Of a settled config: what makes it learn another optimum than that of E[score] - beta KL, and
// what to give instead, as sentences for people.
std::vector<std::string> optimum_caveats(const TuneConfig& config);

}  // namespace skein::rlhf::policy
