#include "skein/rlhf/policy/losses.h"

#include <cmath>

#include "skein/core/error.h"

namespace skein::rlhf::policy {

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

}  // namespace skein::rlhf::policy
