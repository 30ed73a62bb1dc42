// One iteration's answers: sampled, scored, judged, with their advantages.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "skein/rlhf/policy/ppo.h"

namespace skein::rlhf::policy {

struct Rollout {
  std::vector<Episode> episodes;
  int64_t flat_groups = 0, groups = 0;  // where answers to a prompt are compared
  double explained_variance = 0;        // by a critic, where there is one: see advantage.h
  // of each source of rewards its label, and each answer's score without the weight
  std::vector<std::pair<std::string, std::vector<double>>> sources;
};

// Collective. The answers to prompts by the policy as it is, numbered from `first` on and drawn by
// their numbers; without scores. meeting: where it may be interrupted; null: nowhere.
Rollout answered(const std::vector<rewards::Prompt>& asked, int64_t first, const Tuning& tuning,
                 generate::Generator& generator, Meeting* meeting);
// Collective. The answers of an iteration to its prompts, by the policy as it is; without scores.
Rollout sample_answers(const TuneConfig& config, const Tuning& tuning,
                       generate::Generator& generator, int64_t iteration, Meeting* meeting);
// Collective. Gives them their scores.
void score_answers(const Tuning& tuning, Rollout& rollout);
// Rewards under the coefficient beta, and advantages, of episodes that are scored and judged.
void weigh_answers(const TuneConfig& config, double beta, Rollout& rollout);
// Model FLOPs of an iteration's answers before they are learnt from, by model_flops_per_token of
// the tokens of prompt and answer, of which the forward pass is a third: once to sample them, and
// once each to judge them by policy, reference and a critic of its own. Padding does not count, nor
// does what scores them, which may be anything.
double rollout_flops(const TuneConfig& config, const std::vector<Episode>& episodes);
// The answers, which outlive them, as samples to judge and to learn from, and the order in which an
// epoch of an iteration takes them.
EpisodeSamples learnt_samples(const TuneConfig& config, const std::vector<Episode>& episodes);
std::vector<int64_t> learnt_order(const TuneConfig& config, int64_t iteration, int64_t epoch);

}  // namespace skein::rlhf::policy
