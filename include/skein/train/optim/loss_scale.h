// The factor by which losses are multiplied in half precision, so that small gradients do not
// vanish (Micikevicius and others, "Mixed precision training", 2018).
#pragma once

#include <cstdint>

#include "skein/core/options/options.h"
#include "skein/tensor/dtype.h"

namespace skein::train {

struct LossScaleConfig {
  double fixed = 0;       // of every step; 0: found while training
  int64_t window = 2000;  // steps without overflow after which it doubles
};

// Binds the fields as train.loss_scale and train.loss_scale_window.
void bind(Options& options, LossScaleConfig& config);
// Usage errors for a fixed scale of other precisions than f16, and for numbers that cannot be.
void check(const LossScaleConfig& config, DType precision);

class LossScale {
 public:
  static constexpr double kFirst = 65536, kLargest = 16777216, kSmallest = 1;

  // Other precisions than f16 need none: theirs is 1 and stays so. Usage errors as check() has
  // them.
  LossScale(const LossScaleConfig& config, DType precision);
  double value() const { return value_; }
  // After a step: halves where its gradients overflowed, doubles after `window` good steps. True
  // where it may shrink further, so that an overflow is no reason to give up.
  bool after_step(bool overflowed);

  int64_t good_steps() const { return good_steps_; }
  // As a checkpoint holds them; a fixed scale stays what the config says.
  void restore(double value, int64_t good_steps);

 private:
  bool dynamic_;
  int64_t window_;
  double value_;
  int64_t good_steps_ = 0;
};

}  // namespace skein::train
