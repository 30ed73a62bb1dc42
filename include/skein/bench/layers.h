// Self-attention as the model has it, over lengths.
#pragma once

#include "skein/bench/bench.h"
#include "skein/scaling/report/figure.h"

namespace skein::bench {

// Those to measure: bench.lengths, else the model's context.
std::vector<int64_t> lengths_of(const BenchConfig& config, const ModelConfig& model);

// Milliseconds over lengths, of what was measured.
scaling::report::ScalingFigure layer_figure(const std::vector<Figure>& figures,
                                            const BenchConfig& config, const ModelConfig& model);

}  // namespace skein::bench
