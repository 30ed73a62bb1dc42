// Fits of the laws to runs, with proofs that they have converged. All are pure functions of the points as a set: neither their order nor
// threads nor ranks change a digit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "skein/scaling/law.h"
#include "skein/scaling/results.h"

namespace skein {

struct Interval {
  double value = kUnknown, low = kUnknown, high = kUnknown, error = kUnknown;  // 2.5% and 97.5% of the bootstrap, its standard deviation
};

// What shows that a minimum was found.
struct Convergence {
  double gradient_norm = kUnknown;    // at the end, of the objective over centred logarithms
  int64_t starts = 0;
  double best_share = kUnknown;       // of starts that came within 0.1% of the best objective
  double condition = kUnknown;        // of the Hessian
  double second_solver = kUnknown;    // its objective, found in another way
  bool converged = false;
  std::string problem;                // why not
};

enum class LossKind { huber, absolute, squared };  // of residuals of ln L
struct ParametricOptions {
  LossKind kind = LossKind::huber;
  double delta = 1e-3;
  bool every_start = false;      // all 4,500 starts of the paper, instead of the best of a scored grid
  int64_t resamples = 4000;      // of the bootstrap over clusters; 0: no intervals
  uint64_t seed = 42;
  int threads = 0;               // 0: of this machine
  bool show_progress = false;
};

// Approach 3.
struct ParametricFit {
  ChinchillaLaw law;
  double objective = kUnknown;  // the sum over points
  Convergence convergence;
  Interval e, a, b, alpha, beta, n_exponent;
  std::vector<ChinchillaLaw> draws;  // of the bootstrap, those that converged
  int64_t failed_draws = 0;
};
// A usage error that names what is missing: fewer than 6 points or clusters, one size, one D, one ratio D/N, one budget only (D a function of N),
// or a Jacobian of lower rank.
ParametricFit fit_chinchilla(std::span<const ScalingPoint> points, const ParametricOptions& options);

// A band of a quantity over the draws of a fit.
Interval band(const ChinchillaLaw& best, std::span<const ChinchillaLaw> draws, const std::function<double(const ChinchillaLaw&)>& quantity);

// ln y on ln x by (weighted) least squares, intervals by bootstrap over the pairs.
struct XY {
  double x = 0, y = 0, weight = 1;
  int64_t cluster = 0;
};
struct PowerFit {
  PowerLaw law;
  Interval exponent, coefficient;
  std::vector<PowerLaw> draws;
};
PowerFit fit_power(std::span<const XY> pairs, int64_t resamples = 4000, uint64_t seed = 42);

struct OffsetPowerFit {
  OffsetPowerLaw law;
  Convergence convergence;
  Interval e, k, p;
};
OffsetPowerFit fit_offset_power(std::span<const XY> pairs, const ParametricOptions& options);

struct KaplanFit {
  KaplanLaw law;
  Convergence convergence;
  double objective = kUnknown;
};
KaplanFit fit_kaplan(std::span<const ScalingPoint> points, const ParametricOptions& options);

struct OverTrainingFit {
  OverTrainingLaw law;
  Convergence convergence;
  double objective = kUnknown;
};
OverTrainingFit fit_over_training(std::span<const ScalingPoint> points, const ParametricOptions& options);

// Every law fitted without the largest budget and asked for it.
struct HeldOut {
  std::string law;           // "E + A/N^alpha + B/D^beta"
  double budget = kUnknown;  // smallest C that was held out
  int64_t fitted = 0, held_out = 0;
  double mean_error = kUnknown, worst_error = kUnknown;  // of ln L, signed and by size
  bool converged = false;
  std::string problem;
};
std::vector<HeldOut> compare_laws(std::span<const ScalingPoint> points, const ParametricOptions& options);

}  // namespace skein
