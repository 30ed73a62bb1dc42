#include "skein/rlhf/policy/losses.h"

#include <cmath>

#include "skein/core/error.h"

namespace skein {

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
