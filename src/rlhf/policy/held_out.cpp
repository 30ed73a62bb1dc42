#include "held_out.h"

#include <algorithm>
#include <iterator>

#include "skein/core/numbers.h"
#include "skein/core/philox.h"
#include "skein/core/values.h"

#include "tune_metrics.h"

namespace skein::rlhf::policy {
namespace {

generate::GenerateConfig generation_of(const TuneConfig& config) {
  generate::GenerateConfig made = config.generate;
  made.sampling.seed = derive_key(config.run.train.seed, "validation");
  return made;
}

train::Scores scores_of(const Rollout& rollout, double beta) {
  const NamedValues all = answer_values(rollout, kl_finding(rollout.episodes), beta);
  const auto at = [&](const char* name) { return value_named(all, name); };
  train::Scores made;
  for (const char* name : {"reward", "reward_deviation", "score", "kl", "answer_tokens", "ended"})
    made.values.emplace_back(name, at(name));
  std::ranges::copy(source_values(rollout), std::back_inserter(made.values));
  made.quality = at("reward");
  made.text = fmt::format(
      "reward {:.4f}  score {:.4f}  kl {:.3f}  length {:.1f}  ended {:.0f}% of {} prompts",
      shown_number(at("reward")), shown_number(at("score")), shown_number(at("kl")),
      at("answer_tokens"), 100 * at("ended"), rollout.episodes.size());
  return made;
}

}  // namespace

HeldOutAnswers::HeldOutAnswers(const TuneConfig& config, const Tuning& tuning, Actors& actors,
                               Mesh& mesh)
    : config_(config),
      tuning_(tuning),
      actors_(actors),
      generator_(config.run.model, actors.policy().model(), mesh, generation_of(config), tuning.end,
                 tuning.tokenizer.vocab_size()) {}

train::Scores HeldOutAnswers::evaluate(Meeting& meeting) {
  Rollout rollout = answered(*tuning_.held_out, 0, tuning_, generator_, &meeting);
  score_answers(tuning_, rollout);
  actors_.judge(rollout.episodes);
  for (Episode& episode : rollout.episodes)
    shape_rewards(episode.path, config_.kl.beta, config_.shaping);
  return scores_of(rollout, config_.kl.beta);
}

}  // namespace skein::rlhf::policy
