#include "skein/train/optim/optimizer.h"

namespace skein::train {

void bind(Options& options, OptimizerConfig& c) {
  bind(options, c.adamw);
  options.add("optimizer.weight_decay", c.weight_decay,
              "decoupled decay of matrices and embeddings");
  options.add(
      "optimizer.ridge", c.ridge,
      "lambda of lambda |theta|^2 added to the loss, over all parameters that learn; 0 adds none");
  options.add("optimizer.clip", c.clip, "largest global gradient norm; 0 does not clip");
  options.add("optimizer.stochastic_rounding", c.stochastic_rounding,
              "round bf16 weights up or down at random, by how near each is, so that small updates "
              "are not lost");
}

void check(const OptimizerConfig& c) {
  const auto from_zero = [](const char* name, double value) {
    require(std::isfinite(value) && value >= 0, "optimizer.{}={} must be a number from 0", name,
            value);
  };
  check(c.adamw);
  from_zero("weight_decay", c.weight_decay);
  from_zero("ridge", c.ridge);
  from_zero("clip", c.clip);
}

int64_t Optimizer::bytes_per_parameter(DType dtype, bool learns) const {
  const DType sums = gradient_dtype(dtype);
  const int64_t kept = (learns ? std::ssize(state_names()) : 0) + (dtype == sums ? 0 : 1);
  return kept * size_of(sums);
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config) {
  return make_adamw(config.adamw);
}

}  // namespace skein::train
