// The learning rate as a function of the progress of a run.
#pragma once

#include <cstdint>

#include "skein/core/options/options.h"

namespace skein::train {

struct LrConfig {
  enum class Decay { automatic, constant, linear, cosine, inverse_sqrt, wsd, noam };
  enum class Cooldown { linear, cosine, exponential, one_minus_sqrt };
  enum class Unit { steps, tokens };
  double lr = 1e-3;
  double min_lr = 1e-4;
  double start_lr = 0;
  int64_t warmup = 20;
  Decay decay = Decay::automatic;  // linear for encoders and for fine-tuning, else cosine
  int64_t decay_end = 0;           // 0: the run's end
  int64_t cooldown = 0;            // wsd: length of the final fall
  Cooldown cooldown_shape = Cooldown::linear;
  Unit unit = Unit::steps;  // of warmup, decay_end and cooldown
  double factor = 1;        // noam
};

// Binds every field under section "lr".
void bind(Options& options, LrConfig& config);

// Usage errors, with the numbers, for what cannot be. A warm-up longer than the run is no error:
// short trials have it.
void check(const LrConfig& config, int64_t total_steps, int64_t tokens_per_step);

// Where decay is noam the curve that it names for a model of this width (d_model), C, else the same
// config. The curve of Vaswani et al., "Attention is all you need", 2017, for step n,
//   factor C^(-1/2) min(n^(-1/2), n W^(-3/2))
// is inverse_sqrt up to lr = factor (C W)^(-1/2), from 0 and without a floor: lr, min_lr and
// start_lr are replaced.
LrConfig resolved(const LrConfig& config, int64_t width);

// Where a run stands: steps and tokens done, and the steps still to come with the tokens each will
// have.
struct LrPosition {
  int64_t step = 0, tokens = 0;
  int64_t total_steps = 0;
  int64_t tokens_per_step = 0;
};

// Rate of the next step. x = what is done after it, in steps or tokens; by tokens a change of the
// batch on the way keeps the curve. W warmup, D decay_end, A cooldown, y = (x - W) / (D - W),
// z = (x - D + A) / A:
//   x <= W         start_lr + (lr - start_lr) x / W
//   x > D          min_lr, but for inverse_sqrt and constant
//   linear         min_lr + c (lr - min_lr) with c = 1 - y
//   cosine         the same with c = (1 + cos pi y) / 2
//   inverse_sqrt   max(min_lr, lr sqrt(W / x))
//   constant       lr, whatever D
//   wsd            lr until D - A, then the same with c = 1 - z, (1 + cos pi z) / 2, 2 * 0.5^z - 1
//                  or 1 - sqrt(z), by cooldown_shape in its order
// noam is none of them: see `resolved`. (Megatron-LM's schedules; wsd: Hu et al., "MiniCPM", 2024.)
double learning_rate(const LrConfig& config, const LrPosition& position);

// Warns where the rate is 0 at the first step that learns, and so at all of them: where a decay to
// 0 ends with that step. steps: what gives a run more of them, such as "train.steps".
void warn_of_no_rate(const LrConfig& config, const LrPosition& first, const char* steps);

}  // namespace skein::train
