// The learning rate as a function of the step.
#pragma once

#include <cstdint>

#include "skein/core/options.h"

namespace skein {

struct LrConfig {
  double lr = 1e-3;
  double min_lr = 1e-4;
  int64_t warmup = 20;  // steps
  enum class Decay { constant, linear, cosine } decay = Decay::cosine;
};

// Binds every field under section "lr".
void bind(Options& options, LrConfig& config);

// step counts from 0; x = step + 1, so that the first step already learns. x <= warmup: lr * x / warmup; then with
// y = (x - warmup) / (total - warmup): linear 1 - y, cosine (1 + cos(pi y)) / 2 of the way from min_lr to lr.
double learning_rate(const LrConfig& config, int64_t step, int64_t total_steps);

}  // namespace skein
