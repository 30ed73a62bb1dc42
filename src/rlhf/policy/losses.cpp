#include "skein/rlhf/policy/losses.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein {
namespace {

constexpr double kMostLogRatio = 20;

}  // namespace

void bind(Options& options, PolicyClip& clip) {
  options.add("ppo.clip_low", clip.low,
              "the ratio of new to old probability counts from 1 minus this");
  options.add("ppo.clip_high", clip.high,
              "the ratio of new to old probability counts up to 1 plus this");
  options.add("ppo.dual_clip", clip.dual,
              "most loss of a token with an advantage below 0, times the advantage; 0: unbounded");
}

void check(const PolicyClip& clip) {
  require(clip.low > 0 && clip.low < 1, "ppo.clip_low={} must lie between 0 and 1", clip.low);
  require(std::isfinite(clip.high) && clip.high > 0, "ppo.clip_high={} must be above 0", clip.high);
  require(clip.dual == 0 || (std::isfinite(clip.dual) && clip.dual > 1),
          "ppo.dual_clip={} must be 0 (none) or above 1", clip.dual);
}

PolicyLoss policy_loss(double logp, double old_logp, double advantage, const PolicyClip& clip) {
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

ValueLoss value_loss(double value, double old_value, double target, double range) {
  const double distance = value - target;
  const double near =
      range > 0 ? std::clamp(value, old_value - range, old_value + range) - target : distance;
  ValueLoss found;
  found.clipped = near * near > distance * distance;
  found.loss = 0.5 * std::max(near * near, distance * distance);
  if (!found.clipped) found.derivative = distance;
  return found;
}

double token_weight(Aggregation aggregation, int64_t length, const LossCounts& counts,
                    int64_t constant) {
  SKEIN_CHECK(length > 0 && counts.responses > 0 && counts.tokens >= length);
  const auto responses = static_cast<double>(counts.responses);
  switch (aggregation) {
    case Aggregation::token_mean: return 1 / static_cast<double>(counts.tokens);
    case Aggregation::sequence_mean: return 1 / (responses * static_cast<double>(length));
    case Aggregation::constant: break;
  }
  SKEIN_CHECK(constant > 0);
  return 1 / (responses * static_cast<double>(constant));
}

}  // namespace skein
