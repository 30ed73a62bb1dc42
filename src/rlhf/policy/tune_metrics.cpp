#include "tune_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/core/values.h"
#include "skein/train/progress.h"

namespace skein::rlhf::policy {
namespace {

constexpr size_t kShownBytes = 240;

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return excerpt(text, kShownBytes);
}

using OfEpisode = double (*)(const Episode&);

double mean_of(const std::vector<Episode>& episodes, OfEpisode of) {
  double sum = 0;
  for (const Episode& episode : episodes) sum += of(episode);
  return sum / episodes.size();
}

double deviation_of(const std::vector<Episode>& episodes, double mean, OfEpisode of) {
  double squares = 0;
  for (const Episode& episode : episodes) squares += std::pow(of(episode) - mean, 2);
  return std::sqrt(squares / episodes.size());
}

double score_of(const Episode& one) { return one.path.score; }
double reward_of(const Episode& one) { return response_reward(one.path); }
double length_of(const Episode& one) { return one.tokens.size(); }
double entropy_of(const Episode& one) { return one.entropy; }
double ended_of(const Episode& one) { return one.path.ended ? 1 : 0; }

}  // namespace

NamedValues step_values(const std::vector<train::Term>& terms, const train::StepResult& result,
                        const std::string& prefix) {
  NamedValues made;
  for (size_t i = 0; i < result.terms.size(); ++i)
    made.emplace_back(prefix + terms[i].name, result.terms[i]);
  if (!made.empty()) made.emplace_back(prefix + "grad_norm", result.grad_norm);
  return made;
}

void StepMeans::add(const NamedValues& values) {
  for (const auto& [name, value] : values) {
    const auto known = std::find_if(sums_.begin(), sums_.end(),
                                    [&, &name = name](const Sum& sum) { return sum.name == name; });
    if (known == sums_.end())
      sums_.push_back({name, value, 1});
    else
      known->value += value, ++known->count;
  }
}

NamedValues StepMeans::values() const {
  NamedValues made;
  for (const auto& [name, value, count] : sums_) made.emplace_back(name, value / count);
  return made;
}

NamedValues answer_values(const Rollout& rollout, const KlFinding& kl, double beta) {
  const auto& episodes = rollout.episodes;
  const double score = mean_of(episodes, score_of), reward = mean_of(episodes, reward_of);
  return {{"reward", reward},
          {"reward_deviation", deviation_of(episodes, reward, reward_of)},
          {"score", score},
          {"score_deviation", deviation_of(episodes, score, score_of)},
          {"kl", kl.mean},
          {"kl_error", kl.error},
          {"kl_beta", beta},
          {"entropy", mean_of(episodes, entropy_of)},
          {"answer_tokens", mean_of(episodes, length_of)},
          {"ended", mean_of(episodes, ended_of)}};
}

NamedValues source_values(const Rollout& rollout) {
  NamedValues made;
  if (rollout.sources.size() < 2) return made;
  for (const auto& [label, scores] : rollout.sources) {
    const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
    made.emplace_back("score_" + label, sum / scores.size());
  }
  return made;
}

NamedValues cost_values(const IterationCost& cost, double tokens, double peak_flops) {
  const double seconds = cost.seconds(), speed = cost.flops / seconds;
  NamedValues made{{"seconds", seconds},
                   {"generation_share", cost.generation / seconds},
                   {"scoring_share", cost.scoring / seconds},
                   {"training_share", cost.training / seconds},
                   {"generated_tokens_per_second", tokens / cost.generation},
                   {"model_flops_per_second", speed}};
  if (peak_flops > 0) made.emplace_back("share_of_peak", speed / peak_flops);
  return made;
}

std::string progress_text(const NamedValues& values, double peak_flops) {
  const auto at = [&](const char* name) { return shown_number(value_named(values, name)); };
  return fmt::format(
      "reward {:.4f}  score {:.4f}  kl {:.3f}  length {:.1f}  ended {:.0f}%  entropy {:.3f}  "
      "approx_kl {:.2e}  clipped {:.1f}%  {:.1f} s (generation {:.0f}%, scoring {:.0f}%, training "
      "{:.0f}%)  {}",
      at("reward"), at("score"), at("kl"), at("answer_tokens"), 100 * at("ended"), at("entropy"),
      at("approx_kl"), 100 * at("clipped"), at("seconds"), 100 * at("generation_share"),
      100 * at("scoring_share"), 100 * at("training_share"),
      train::speed_text(at("model_flops_per_second"), peak_flops));
}

std::string answer_text(const Episode& episode, const Tuning& tuning) {
  return fmt::format("score {:.3f}, kl {:.3f}: {} => {}", shown_number(episode.path.score),
                     shown_number(response_kl(episode.path)), one_line(episode.prompt.text()),
                     one_line(tuning.text_of(episode.tokens)));
}

}  // namespace skein::rlhf::policy
