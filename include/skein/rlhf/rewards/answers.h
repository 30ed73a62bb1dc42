// The answers that a model gives to prompts: how many to each, what scores them, and which are
// kept.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "skein/generate/generator.h"
#include "skein/rlhf/rewards/reward_list.h"

namespace skein::rlhf::rewards {

// automatic: the best where something scores them, else all.
enum class KeptAnswers { automatic, best, all, ranked };

struct AnswersConfig {
  int64_t each = 1;
  KeptAnswers kept = KeptAnswers::automatic;
  RewardOptions rewards;

  bool scored() const { return !rewards.sources.empty(); }
};

// Binds generate.answers, generate.keep and the options of rewards.
void bind(Options& options, AnswersConfig& config);
// Usage errors for what cannot be together; no KeptAnswers::automatic stays. jsonl: the form of the
// result.
void settle(AnswersConfig& config, bool jsonl, const generate::SamplingConfig& sampling);

// Usage errors for what beams leave no room for: they make and score several answers themselves.
void check(const AnswersConfig& config, const generate::BeamConfig& beam);

struct AnswerScores {
  std::vector<double> sums;  // one an answer; none where nothing scores them
  // Of each source its label, and its scores without the weight.
  std::vector<std::pair<std::string, std::vector<double>>> sources;

  std::span<const double> of(size_t first, size_t count) const {
    return std::span(sums).subspan(first, count);
  }
};
// Collective.
AnswerScores scores_of(RewardMixture& rewards, const std::vector<Answer>& answers);

}  // namespace skein::rlhf::rewards
