// Self-attention as the model has it, over lengths.
#pragma once

#include <utility>

#include "skein/bench/bench.h"

namespace skein::bench {

struct LayerTimes {
  std::string way;  // "forward", or "in block 1 forward" where blocks differ
  std::vector<std::pair<int64_t, double>> seconds;  // by rising length in tokens
};

// Of what was measured of the lengths of config.
std::vector<LayerTimes> layer_times(const std::vector<Figure>& figures, const BenchConfig& config,
                                    const ModelConfig& model);

}  // namespace skein::bench
