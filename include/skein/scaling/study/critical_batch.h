// The critical batch size from runs of one model that differ in batch size: to reach a loss at
// batch B takes D(B) = D_min (1 + B / B_crit) tokens (McCandlish et al., "An empirical model of
// large-batch training", 2018; Kaplan et al., 2020, section 5.1).
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/fit/fit.h"

namespace skein::scaling::study {

struct CriticalBatchPoint {
  double n_all = kUnknown;  // of the model; n_params where that is unknown
  double loss = 0;
  double batch = 0;         // B_crit, in tokens: twice the least tokens, twice the least steps
  double least_tokens = 0;  // D_min
  int64_t batches = 0;      // that it rests on
};

struct CriticalBatchFit {
  std::vector<CriticalBatchPoint> points;
  PowerLaw of_loss;     // B_crit = coefficient L^exponent
  std::string problem;  // why there is none
  bool valid() const { return problem.empty(); }
};

// At up to 8 losses a model, spaced evenly in ln L, that runs with curves at 3 or more batch sizes
// reached; of a batch size the run that needed the fewest tokens. Outclassed runs count, others
// that are not done do not.
CriticalBatchFit fit_critical_batch(const ScalingTable& table);

}  // namespace skein::scaling::study
