// From scores of whole responses to advantages of their tokens. Pure functions over the responses
// of a whole (global) batch, in one order; every sum is of f64 over the tokens of a response in
// order, then over responses in order, so that the bits do not depend on how the responses came to
// be spread over ranks.
//
// A response y_1..y_n has n >= 1 tokens, its end token included where it has ended. For a response
// that is cut the end of its tokens counts as the end of the episode.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/rlhf/policy/kl.h"

namespace skein::rlhf::policy {

// One response; each vector has a number for each of its n tokens.
struct Trajectory {
  std::vector<double> logp;      // log pi_old(y_t|.), under the policy that sampled it
  std::vector<double> ref_logp;  // log pi_0(y_t|.)
  std::vector<double> values;    // V_t; empty where there is no critic
  double score = 0;              // of the whole response, as its source gave it
  bool ended = false;            // its last token is the end token
  bool counted = true;           // false: no token of it counts in losses, counts and whitening
  std::vector<double> rewards, advantages, returns;  // what the functions below make

  int64_t length() const { return std::ssize(logp); }
};

struct ShapingConfig {
  enum class MissingEnd { none, replace, subtract, mask };
  double score_clip = 0;  // scores are cut to +- this; 0: not cut
  MissingEnd missing_end = MissingEnd::none;
  // replace: the score is minus this; subtract: this is taken from it
  double missing_end_value = 1;
  KlEstimator estimator = KlEstimator::k1;
};

// Binds every field under section "reward".
void bind(Options& options, ShapingConfig& config);
// Usage errors with the value for what cannot be.
void check(const ShapingConfig& config);

// The score that a response's last token gets: cut to +-score_clip first, then, where the response
// has not ended, replaced (Ziegler et al. 2019) or lowered.
double shaped_score(const ShapingConfig& config, double score, bool ended);

// rewards: r_t = -beta k_t + [t = n] s with k_t the estimate of d = logp - ref_logp and s the
// shaped score (Ziegler et al. 2019; Stiennon et al. 2020); clears `counted` where missing_end is
// mask and the response has not ended. Error(failure), with the numbers, where one is not finite.
void shape_rewards(Trajectory& trajectory, double beta, const ShapingConfig& config);

// The sum over tokens of k1: the response's share of KL(pi, pi_0) as a number.
double response_kl(const Trajectory& trajectory);
// The sum of the rewards: what methods without a critic take for the return of a whole response.
double response_reward(const Trajectory& trajectory);

// advantages and returns from rewards and values (Schulman et al. 2016, generalised advantage
// estimation):
//   delta_t = r_t + gamma V_{t+1} - V_t with V_{n+1} = 0;  A_t = delta_t + gamma lambda A_{t+1};
//   R_t = A_t + V_t.
// The returns are of advantages that have not been whitened: whiten() only after this. gamma and
// lambda lie in [0, 1].
void estimate_advantages(Trajectory& trajectory, double gamma, double lambda);

// Advantages of all tokens of the responses that count become (A - mean) / sqrt(variance + 1e-8),
// with the variance divided by the number of tokens. The others are left as they are.
void whiten(std::span<Trajectory> trajectories);

// 1 - var(R - V) / var(R) over all tokens that count: 1 for a perfect critic, 0 for a constant one;
// 0 where the returns do not vary.
double explained_variance(std::span<const Trajectory> trajectories);

// Baselines from several responses to one prompt, for policies trained without a critic. R_i: score
// or reward of a whole response.
enum class GroupBaseline {
  leave_one_out,  // R_i - mean of the others (Ahmadian et al. 2024, RLOO)
  mean_and_std,   // (R_i - mean) / (std + 1e-4), std divided by K - 1 (Shao et al. 2024, GRPO)
  mean            // R_i - mean (Liu et al. 2025, Dr. GRPO)
};

struct GroupAdvantages {
  std::vector<double> advantages;  // one a response
  int64_t flat_groups = 0;         // with K equal rewards: they teach nothing
};

// rewards: the K = `group` responses of a prompt follow each other. A usage error for fewer than
// two a prompt.
GroupAdvantages group_advantages(GroupBaseline baseline, std::span<const double> rewards,
                                 int64_t group);

// Gives all tokens of a response its advantage.
void spread(std::span<Trajectory> trajectories, std::span<const double> advantages);

}  // namespace skein::rlhf::policy
