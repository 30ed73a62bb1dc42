// What an optimizer is: a rule by which the elements of parameters move along their gradients.
// Which elements a rank has, sums and norms, the running mean and checkpoints are no business of it
// (train/optim/sharded_optimizer.h).
//
// Another one is a class beside AdamW's (src/train/optim/adamw.cpp), with its options, and a branch
// in make_optimizer by an option, of which there is none while there is one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/tensor/tensor.h"
#include "skein/train/optim/adamw.h"

namespace skein::train {

struct OptimizerConfig {
  AdamWConfig adamw = {};
  double weight_decay = 0.1;  // of matrices and embeddings; 1-D tensors have none
  double ridge = 0;  // λ of a penalty λ‖θ‖² in the loss, θ being every parameter that learns,
                     // biases and norms too; 0: none
  double clip = 1.0;      // of the global gradient norm; 0: no clipping
  double mean_decay = 0;  // of a running mean of the values beside them, which keeps so much of
                          // itself at each step; 0: none
  // bf16 weights are rounded up or down at random, by how near each is
  bool stochastic_rounding = false;
};

// Binds every field under section "optimizer" but mean_decay.
void bind(Options& options, OptimizerConfig& config);
// A usage error for numbers that cannot be.
void check(const OptimizerConfig& config);

// Consecutive elements of one parameter, all [n] and, but for `rounded`, in the accumulator type.
struct Shard {
  double lr = 0;
  double weight_decay = 0;    // decoupled: values -= lr * weight_decay * values
  Tensor values;              // moved in place
  Tensor gradient;            // of the whole step
  std::vector<Tensor> state;  // as state_names() names them; 0 before the first update
  Tensor rounded;  // receives the new values in the parameter's own type; may be undefined
};

// What a step has for all shards.
struct Update {
  int64_t number = 1;         // from 1
  double gradient_scale = 1;  // multiplied into each gradient before anything else
  // [1] f64, where the gradients are: the squares of all of them, of the whole model, before
  // scaling. Where it is not finite nothing may change.
  Tensor square_sum = {};
  double clip = 0;  // scaled gradients are shrunk to this norm where theirs is larger; 0: never
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // What it keeps for each element, by its name in checkpoints ("adam_m", for "adam_m/NAME").
  virtual std::vector<std::string> state_names() const = 0;
  // Moves all that this rank holds, each element by itself, so that the bits do not depend on where
  // shards begin. No device is waited for.
  virtual void update(const std::vector<Shard>& shards, const Update& update) const = 0;

  // Of an element beside value and gradient: its state, if it learns, and where its type is not the
  // accumulator's, its value in that.
  int64_t bytes_per_parameter(DType dtype, bool learns = true) const;
};

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config);

}  // namespace skein::train
