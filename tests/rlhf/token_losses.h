// Losses of one token with their derivatives, written out in f64: what kernels/policy.h is held to.
#pragma once

#include <algorithm>
#include <cmath>

#include "skein/rlhf/policy/kl.h"
#include "skein/rlhf/policy/losses.h"

namespace skein::rlhf {

struct PolicyLoss {
  double loss = 0;
  double derivative = 0;  // by the new log-probability
  double ratio = 1;
  bool clipped = false;       // the clipped form is strictly larger: no gradient
  bool dual_clipped = false;  // bounded by `dual`: no gradient
};

inline PolicyLoss policy_loss(double logp, double old_logp, double advantage,
                              const policy::PolicyClip& clip) {
  constexpr double kMostLogRatio = 20;
  const double difference = logp - old_logp;
  PolicyLoss found;
  found.ratio = std::exp(std::clamp(difference, -kMostLogRatio, kMostLogRatio));
  const double plain = -advantage * found.ratio;
  const double bounded = -advantage * std::clamp(found.ratio, 1 - clip.low, 1 + clip.high);
  found.clipped = bounded > plain;
  found.loss = std::max(plain, bounded);
  if (advantage < 0 && clip.dual > 0 && -advantage * clip.dual < found.loss) {
    found.dual_clipped = true;
    found.loss = -advantage * clip.dual;
  }
  if (!found.clipped && !found.dual_clipped && std::abs(difference) <= kMostLogRatio)
    found.derivative = plain;
  return found;
}

// Of kl_estimate by d, which is that by log pi. abs: 0 at 0; k3: 0 where d is beyond +-20.
inline double kl_derivative(policy::KlEstimator kind, double d) {
  switch (kind) {
    case policy::KlEstimator::k1: return 1;
    case policy::KlEstimator::k2: return d;
    case policy::KlEstimator::k3: return std::abs(d) > 20 ? 0 : -std::expm1(-d);
    case policy::KlEstimator::abs: return d > 0 ? 1 : d < 0 ? -1 : 0;
  }
  return 1;
}

struct ValueLoss {
  double loss = 0;
  double derivative = 0;  // by V
  bool clipped = false;   // the clipped form is strictly larger: no gradient
};

inline ValueLoss value_loss(double value, double old_value, double target, double range) {
  const double distance = value - target;
  const double near =
      range > 0 ? std::clamp(value, old_value - range, old_value + range) - target : distance;
  ValueLoss found;
  found.clipped = near * near > distance * distance;
  found.loss = 0.5 * std::max(near * near, distance * distance);
  if (!found.clipped) found.derivative = distance;
  return found;
}

}  // namespace skein::rlhf
