// How far the policy pi has moved from its reference pi_0: estimates of KL(pi, pi_0) from tokens
// that pi sampled, and the controller of its coefficient.
//
// d = log pi(y_t|.) - log pi_0(y_t|.) of a sampled token. The same formula means different things
// in different uses (Schulman, "Approximating KL divergence", 2020; Ziegler et al. 2019 charge k1
// in the reward, Shao et al. 2024 (GRPO) use k3 as a loss):
//
//        formula       as a number               in the reward      as a loss, its gradient
//   k1   d             unbiased, may be below 0  keeps the optimum  0 in expectation: useless
//   k2   d^2 / 2       biased, at least 0        moves the optimum  that of KL(pi, pi_0), on policy
//   k3   e^-d - 1 + d  unbiased, at least 0      moves the optimum  that of KL(pi_0, pi), on policy
//   abs  |d|           biased                    moves the optimum  none that is meant
//
// "The optimum" is that of E[score] - beta KL: pi* proportional to pi_0 exp(score / beta). A loss
// per token leaves out what a token does to the KL of later ones, so neither k2 nor k3 as a loss
// reaches it exactly.
#pragma once

#include <cstdint>
#include <string>

#include "skein/core/options/options.h"

namespace skein::rlhf::policy {

enum class KlEstimator { k1, k2, k3, abs };

// The formula above. k3 takes d within +-20, so that it stays finite.
double kl_estimate(KlEstimator kind, double d);
// What is wrong with an estimator in the reward, as a sentence for a warning; "" when it is right
// there.
std::string kl_caveat(KlEstimator kind);

struct KlConfig {
  enum class Control { fixed, adaptive };
  double beta = 0.05;  // coefficient; where the adaptive controller begins
  Control control = Control::fixed;
  double target = 6;       // adaptive: nats per response, k1 summed over its tokens
  double horizon = 10000;  // adaptive: episodes
};

// Binds every field under section "kl".
void bind(Options& options, KlConfig& config);
// Usage errors with the value for what cannot be. episodes: of an iteration, over all ranks.
void check(const KlConfig& config, int64_t episodes);

// The coefficient beta after an iteration of n episodes, on ALL ranks, with mean KL a response
// `kl`, the sum of k1 over its tokens. Adaptive (Ziegler et al. 2019):
//   e = clip(KL / target - 1, -0.2, 0.2);  beta *= 1 + e n / horizon.
// Error(failure) for a KL that is not finite.
double next_beta(const KlConfig& config, double beta, double kl, int64_t episodes);
// The coefficient that a run goes on with whose checkpoint has `stored`: that where it is adaptive.
// A usage error for one that cannot be.
double resumed_beta(const KlConfig& config, double stored);

}  // namespace skein::rlhf::policy
