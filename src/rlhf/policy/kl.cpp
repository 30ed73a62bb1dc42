#include "skein/rlhf/policy/kl.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein {
namespace {

constexpr double kMostExponent = 20;
constexpr double kMostError = 0.2;

void check_controller(const KlConfig& c) {
  require(std::isfinite(c.beta) && c.beta >= 0, "kl.beta={} must be a number not below 0", c.beta);
  if (c.control == KlConfig::Control::fixed) return;
  require(c.beta > 0, "kl.control=adaptive multiplies kl.beta={}, which therefore must be above 0",
          c.beta);
  require(std::isfinite(c.target) && c.target > 0,
          "kl.target={} nats per response must be above 0 for kl.control=adaptive", c.target);
  require(std::isfinite(c.horizon) && c.horizon > 0,
          "kl.horizon={} episodes must be above 0 for kl.control=adaptive", c.horizon);
}

void check_horizon(const KlConfig& c, int64_t episodes) {
  if (c.control == KlConfig::Control::fixed) return;
  const double least = kMostError * static_cast<double>(episodes);
  require(c.horizon > least,
          "kl.horizon={} is too short for {} episodes an iteration, which could take kl.beta to 0; "
          "give more than {}",
          c.horizon, episodes, least);
}

std::string caveat_in_reward(KlEstimator kind) {
  if (kind == KlEstimator::k1) return "";
  return "inside the reward only k1 keeps the optimum of score minus beta KL; the others move it "
         "and can let the policy run away";
}

std::string caveat_as_loss(KlEstimator kind) {
  switch (kind) {
    case KlEstimator::k1:
      return "as a loss k1 has a gradient that is zero in expectation, so it does not hold the "
             "policy";
    case KlEstimator::k2: return "";
    case KlEstimator::k3:
      return "as a loss k3 has the gradient of KL(reference, policy), the other direction; k2 has "
             "that of KL(policy, reference)";
    case KlEstimator::abs:
      return "as a loss abs has the gradient of no KL; k2 has that of KL(policy, reference)";
  }
  return "";
}

std::string caveat_as_number(KlEstimator kind) {
  if (kind == KlEstimator::k1 || kind == KlEstimator::k3) return "";
  return "the mean of k2 or abs is no unbiased estimate of the KL; k1 and k3 are";
}

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

std::string kl_caveat(KlEstimator kind, KlUse use) {
  switch (use) {
    case KlUse::number: return caveat_as_number(kind);
    case KlUse::reward: return caveat_in_reward(kind);
    case KlUse::loss: return caveat_as_loss(kind);
  }
  return "";
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
  check_controller(c);
  check_horizon(c, episodes);
}

KlController::KlController(const KlConfig& config) : KlController(config, KlState{config.beta}) {}

KlController::KlController(const KlConfig& config, const KlState& state)
    : config_(config), state_(state) {
  check_controller(config);
  require(std::isfinite(state.beta) && state.beta >= 0,
          "the KL coefficient {} of a stored state is no number from 0 up", state.beta);
}

void KlController::update(double kl, int64_t episodes) {
  if (!std::isfinite(kl))
    fail("the mean KL of {} responses is {}; policy and reference give no finite log-probabilities",
         episodes, shown_number(kl));
  if (config_.control == KlConfig::Control::fixed) return;
  check_horizon(config_, episodes);
  const double error = std::clamp(kl / config_.target - 1, -kMostError, kMostError);
  state_.beta *= 1 + error * static_cast<double>(episodes) / config_.horizon;
}

}  // namespace skein
