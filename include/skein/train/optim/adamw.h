// AdamW (Loshchilov, Hutter, "Decoupled weight decay regularization", 2019). In checkpoints its
// moments are "adam_m" and "adam_v".
#pragma once

#include <memory>

#include "skein/core/options/options.h"

namespace skein::train {

class Optimizer;

struct AdamWConfig {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
};

// Binds every field under section "optimizer".
void bind(Options& options, AdamWConfig& config);
// A usage error for numbers that no moments come from.
void check(const AdamWConfig& config);

std::unique_ptr<Optimizer> make_adamw(const AdamWConfig& config);

}  // namespace skein::train
