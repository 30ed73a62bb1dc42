#include "skein/train/lr.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace skein {

void bind(Options& options, LrConfig& c) {
  options.add("lr.lr", c.lr, "highest learning rate");
  options.add("lr.min_lr", c.min_lr, "learning rate at the end");
  options.add("lr.warmup", c.warmup, "linear warm-up", "steps");
  options.add_choice("lr.decay", c.decay,
                     {{"constant", LrConfig::Decay::constant}, {"linear", LrConfig::Decay::linear},
                      {"cosine", LrConfig::Decay::cosine}}, "shape after the warm-up");
}

double learning_rate(const LrConfig& c, int64_t step, int64_t total_steps) {
  const double x = static_cast<double>(step + 1), warmup = static_cast<double>(c.warmup);
  if (x <= warmup) return c.lr * x / warmup;
  const double left = std::max(1.0, static_cast<double>(total_steps) - warmup);
  const double y = std::min(1.0, (x - warmup) / left);
  switch (c.decay) {
    case LrConfig::Decay::constant: return c.lr;
    case LrConfig::Decay::linear: return c.min_lr + (c.lr - c.min_lr) * (1 - y);
    case LrConfig::Decay::cosine: return c.min_lr + (c.lr - c.min_lr) * (1 + std::cos(std::numbers::pi * y)) / 2;
  }
  return c.lr;
}

}  // namespace skein
