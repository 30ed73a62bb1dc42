// How the size of activations grows with the width of a model while it begins to learn: the
// coordinate check of the maximal update parametrisation (Yang, Hu and others, "Tensor Programs V:
// Tuning large neural networks via zero-shot hyperparameter transfer", 2022, appendix D). Under muP
// no layer grows with the width; without it some do, and the best learning rate falls as they grow.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/train/config.h"

namespace skein::bench {

struct CoordinateConfig {
  std::vector<int64_t> widths{64, 128, 256};
  int64_t steps = 10;
  int64_t seeds = 5;
  bool wider_heads = false;  // the number of heads stays as the width grows; else their width does
};

// The model at another width: heads and feed-forward layer grow in proportion. With wider heads,
// muP's base head does not change. Usage errors for widths that do not divide.
ModelConfig widened(const ModelConfig& model, int64_t width, bool wider_heads);

// Slope of ln(sizes) against ln(widths) by least squares; NaN where a size is not a number above 0.
double growth_exponent(const std::vector<int64_t>& widths, const std::vector<double>& sizes);

struct Coordinates {
  // Exponents above it count as growth: what is flat in the limit is not quite so over a few small
  // widths.
  static constexpr double kFlat = 0.2;

  std::vector<int64_t> widths;
  // "embedding", "block.0" (what the block adds to the stream), ..., "logits"
  std::vector<std::string> layers;
  // By layer, step and width: mean |activation|, the geometric mean over seeds. Step 0 comes before
  // the first update.
  std::vector<std::vector<std::vector<double>>> sizes;
  std::vector<double> losses;  // by width: training loss of the last step, the mean over seeds

  int64_t steps() const { return std::ssize(sizes.front()) - 1; }
  double exponent(size_t layer, int64_t step) const;
  // Of a layer after the last step, or where that layer is not finite.
  bool grows(size_t layer) const;
  // A table with a line a layer, and what it says in words.
  std::string table() const;
  std::string verdict(bool mup) const;
};

// Trains run.model at each width for a few steps at a constant lr.lr, on one batch of random
// tokens, and measures it before and after each. On one rank. Usage errors for models that are no
// language models.
Coordinates coordinates(const train::PretrainConfig& run, const CoordinateConfig& config,
                        Group& world);

// {"widths": …, "layers": [{"name": …, "exponents": [by step], "sizes": [[by step, width]],
// "grows": …}], "losses": …}; what is not finite is null.
std::string coordinates_json(const Coordinates& made);

}  // namespace skein::bench
