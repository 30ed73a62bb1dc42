#include "skein/rlhf/policy/kl.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::rlhf::policy {
namespace {

constexpr double kMostExponent = 20;
constexpr double kMostError = 0.2;

}  // namespace

double kl_estimate(KlEstimator kind, double d) {
  const double bounded = std::clamp(d, -kMostExponent, kMostExponent);
  switch (kind) {
    case KlEstimator::k1: return d;
    case KlEstimator::k2: return 0.5 * d * d;
    case KlEstimator::k3: return std::expm1(-bounded) + bounded;
    case KlEstimator::abs: return std::abs(d);
  }
  return d;
}

std::string kl_caveat(KlEstimator kind) {
  if (kind == KlEstimator::k1) return "";
  return "inside the reward only k1 keeps the optimum of score minus beta KL; the others move it "
         "and can let the policy run away";
}

void bind(Options& options, KlConfig& c) {
  options.add("kl.beta", c.beta,
              "coefficient of the KL to the reference; where kl.control=adaptive begins");
  options.add_choice(
      "kl.control", c.control,
      {{"fixed", KlConfig::Control::fixed}, {"adaptive", KlConfig::Control::adaptive}},
      "whether kl.beta stays or follows kl.target");
  options.add("kl.target", c.target, "adaptive: KL of a response that is steered to", "nats");
  options.add("kl.horizon", c.horizon, "adaptive: how slowly kl.beta changes", "episodes");
}

void check(const KlConfig& c, int64_t episodes) {
  require(std::isfinite(c.beta) && c.beta >= 0, "kl.beta={} must be a number not below 0", c.beta);
  if (c.control == KlConfig::Control::fixed) return;
  require(c.beta > 0, "kl.control=adaptive multiplies kl.beta={}, which therefore must be above 0",
          c.beta);
  require(std::isfinite(c.target) && c.target > 0,
          "kl.target={} nats per response must be above 0 for kl.control=adaptive", c.target);
  require(std::isfinite(c.horizon) && c.horizon > 0,
          "kl.horizon={} episodes must be above 0 for kl.control=adaptive", c.horizon);
  const double least = kMostError * episodes;
  require(c.horizon > least,
          "kl.horizon={} is too short for {} episodes an iteration, which could take kl.beta to 0; "
          "give more than {}",
          c.horizon, episodes, least);
}

double next_beta(const KlConfig& config, double beta, double kl, int64_t episodes) {
  if (!std::isfinite(kl))
    fail("the mean KL of {} responses is {}; policy and reference give no finite log-probabilities",
         episodes, shown_number(kl));
  if (config.control == KlConfig::Control::fixed) return beta;
  const double error = std::clamp(kl / config.target - 1, -kMostError, kMostError);
  return beta * (1 + error * episodes / config.horizon);
}

double resumed_beta(const KlConfig& config, double stored) {
  if (config.control == KlConfig::Control::fixed) return config.beta;
  require(std::isfinite(stored) && stored >= 0,
          "the KL coefficient {} of a stored state is no number from 0 up", stored);
  return stored;
}

}  // namespace skein::rlhf::policy
