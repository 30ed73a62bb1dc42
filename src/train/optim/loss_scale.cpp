#include "skein/train/optim/loss_scale.h"

#include <algorithm>

namespace skein::train {

void bind(Options& options, LossScaleConfig& c) {
  options.add("train.loss_scale", c.fixed, "factor of the loss in f16; 0: found while training");
  options.add("train.loss_scale_window", c.window,
              "steps without overflow after which that factor doubles", "steps");
}

void check(const LossScaleConfig& config, DType precision) {
  require(config.fixed == 0 || precision == DType::f16,
          "train.loss_scale={} is for train.precision=f16, but that is {}; leave it out",
          config.fixed, name_of(precision));
  require(config.fixed >= 0 && config.window > 0,
          "train.loss_scale={} must be at least 0, train.loss_scale_window={} at least 1",
          config.fixed, config.window);
}

LossScale::LossScale(const LossScaleConfig& config, DType precision)
    : dynamic_(precision == DType::f16 && config.fixed == 0),
      window_(config.window),
      value_(dynamic_           ? kFirst
             : config.fixed > 0 ? config.fixed
                                : 1) {
  check(config, precision);
}

bool LossScale::after_step(bool overflowed) {
  if (!dynamic_) return false;
  if (overflowed) {
    good_steps_ = 0;
    const bool may_shrink = value_ > kSmallest;
    value_ = std::max(kSmallest, value_ / 2);
    return may_shrink;
  }
  if (++good_steps_ < window_) return true;
  good_steps_ = 0;
  value_ = std::min(kLargest, value_ * 2);
  return true;
}

void LossScale::restore(double value, int64_t good_steps) {
  if (!dynamic_) return;
  value_ = std::clamp(value, kSmallest, kLargest);
  good_steps_ = good_steps;
}

}  // namespace skein::train
