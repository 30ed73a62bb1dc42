#include "skein/rlhf/policy/advantage.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::rlhf::policy {
namespace {

using MissingEnd = ShapingConfig::MissingEnd;

void check_token(const Trajectory& trajectory, size_t t) {
  const double policy = trajectory.logp[t], reference = trajectory.ref_logp[t];
  if (!std::isfinite(policy) || !std::isfinite(reference))
    fail(
        "token {} of a response of {} has log-probability {} under the policy and {} under the "
        "reference",
        t + 1, trajectory.length(), shown_number(policy), shown_number(reference));
}

}  // namespace

void bind(Options& options, ShapingConfig& c) {
  options.add("reward.score_clip", c.score_clip,
              "scores are cut to plus and minus this; 0: not cut");
  options.add_choice("reward.missing_end", c.missing_end,
                     {{"none", MissingEnd::none},
                      {"replace", MissingEnd::replace},
                      {"subtract", MissingEnd::subtract},
                      {"mask", MissingEnd::mask}},
                     "what becomes of a response that has not ended: its score is minus "
                     "reward.missing_end_value, or less by it, or the response does not count");
  options.add("reward.missing_end_value", c.missing_end_value, "see reward.missing_end");
  options.add_choice(
      "reward.kl_estimator", c.estimator,
      {{"k1", KlEstimator::k1},
       {"k2", KlEstimator::k2},
       {"k3", KlEstimator::k3},
       {"abs", KlEstimator::abs}},
      "what is charged of each token for leaving the reference; only k1 keeps the optimum");
}

void check(const ShapingConfig& c) {
  require(std::isfinite(c.score_clip) && c.score_clip >= 0,
          "reward.score_clip={} must be a number not below 0", c.score_clip);
  require(std::isfinite(c.missing_end_value), "reward.missing_end_value={} must be a finite number",
          c.missing_end_value);
}

double shaped_score(const ShapingConfig& config, double score, bool ended) {
  if (config.score_clip > 0) score = std::clamp(score, -config.score_clip, config.score_clip);
  if (ended || config.missing_end == MissingEnd::none || config.missing_end == MissingEnd::mask)
    return score;
  return config.missing_end == MissingEnd::replace ? -config.missing_end_value
                                                   : score - config.missing_end_value;
}

void shape_rewards(Trajectory& trajectory, double beta, const ShapingConfig& config) {
  const size_t n = trajectory.logp.size();
  SKEIN_CHECK(n > 0);
  SKEIN_CHECK_EQ(trajectory.ref_logp.size(), n);
  if (!std::isfinite(trajectory.score))
    fail("the score of a response of {} tokens is {}", n, shown_number(trajectory.score));
  trajectory.rewards.resize(n);
  for (size_t t = 0; t < n; ++t) {
    check_token(trajectory, t);
    trajectory.rewards[t] =
        -beta * kl_estimate(config.estimator, trajectory.logp[t] - trajectory.ref_logp[t]);
  }
  trajectory.rewards[n - 1] += shaped_score(config, trajectory.score, trajectory.ended);
  if (config.missing_end == MissingEnd::mask && !trajectory.ended) trajectory.counted = false;
}

double response_kl(const Trajectory& trajectory) {
  SKEIN_CHECK_EQ(trajectory.ref_logp.size(), trajectory.logp.size());
  double sum = 0;
  for (size_t t = 0; t < trajectory.logp.size(); ++t)
    sum += trajectory.logp[t] - trajectory.ref_logp[t];
  return sum;
}

double response_reward(const Trajectory& trajectory) {
  double sum = 0;
  for (const double reward : trajectory.rewards) sum += reward;
  return sum;
}

void estimate_advantages(Trajectory& trajectory, double gamma, double lambda) {
  const size_t n = trajectory.rewards.size();
  SKEIN_CHECK(n > 0);
  SKEIN_CHECK_EQ(trajectory.values.size(), n);
  SKEIN_CHECK(gamma >= 0 && gamma <= 1 && lambda >= 0 && lambda <= 1);
  trajectory.advantages.resize(n);
  trajectory.returns.resize(n);
  double next_value = 0, next_advantage = 0;
  for (size_t t = n; t-- > 0;) {
    const double value = trajectory.values[t];
    if (!std::isfinite(value))
      fail("the critic gives token {} of a response of {} the value {}", t + 1, n,
           shown_number(value));
    const double delta = trajectory.rewards[t] + gamma * next_value - value;
    next_advantage = delta + gamma * lambda * next_advantage;
    next_value = value;
    trajectory.advantages[t] = next_advantage;
    trajectory.returns[t] = next_advantage + value;
  }
}

void spread(std::span<Trajectory> trajectories, std::span<const double> advantages) {
  SKEIN_CHECK_EQ(trajectories.size(), advantages.size());
  for (size_t i = 0; i < trajectories.size(); ++i)
    trajectories[i].advantages.assign(trajectories[i].logp.size(), advantages[i]);
}

}  // namespace skein::rlhf::policy
