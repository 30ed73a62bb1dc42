// Approaches 1 and 2 of Hoffmann et al. (2022): the envelope of training curves, and parabolas of the loss over sizes at fixed compute.
#pragma once

#include "skein/scaling/fit.h"

namespace skein {

// ln L-free parabola loss = curvature (ln n - ln n_best)^2 / 2 + loss_best of one budget.
struct IsoflopBudget {
  double flops = 0;
  std::vector<int64_t> points;  // indices into the points fitted
  double n = kUnknown, d = kUnknown, loss = kUnknown;  // at the vertex
  double curvature = kUnknown;     // of the loss over ln n, twice
  double half_width = kUnknown;    // of the grid of sizes, in ln n
  double centre_offset = kUnknown; // of the grid's centre from the vertex, in ln n
  std::string problem;             // why it has no vertex that counts: "minimum at the edge", "concave", "two sizes"
};

struct IsoflopOptions {
  double tolerance = 0.1;  // runs whose C is within so much (relative) are of one budget
  int64_t resamples = 4000;
  uint64_t seed = 42;
};

struct IsoflopFit {
  std::vector<IsoflopBudget> budgets;
  PowerFit n_of_c, d_of_c;      // through the vertices that count
  OffsetPowerFit loss_of_c;
  std::string problem;          // why there is no fit: "fewer than 3 budgets with a minimum inside"
  bool valid() const { return problem.empty(); }
};
IsoflopFit fit_isoflop(std::span<const ScalingPoint> points, const IsoflopOptions& options);

struct EnvelopePoint {
  double c = 0, n = 0, d = 0, loss = 0;
  int64_t run = 0;
};
struct EnvelopeFit {
  std::vector<EnvelopePoint> envelope;
  PowerFit n_of_c, d_of_c, loss_of_c;
  std::string problem;
  bool valid() const { return problem.empty(); }
};
// From the runs' curves, or from their last points alone where there are none.
EnvelopeFit fit_envelope(const ScalingTable& table, const Convention& convention, int64_t resamples, uint64_t seed);

}  // namespace skein
