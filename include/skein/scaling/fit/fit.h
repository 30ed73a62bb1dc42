// Fits of the laws to runs, with proofs that they have converged. All are pure functions of the
// points as a set: neither their order nor equal ones given twice nor threads nor ranks change a
// digit.
//
// The minimum is searched by L-BFGS and Newton's method over centred logarithms, with exact
// derivatives, from many starts (Hoffmann et al., 2022, section 3.3, have the objective); then once
// more by variable projection, which shares no derivatives with it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "skein/scaling/laws/law.h"
#include "skein/scaling/laws/results.h"

namespace skein::scaling::fit {

struct Interval {
  double value = kUnknown;
  // 2.5% and 97.5% of the bootstrap, and its standard deviation
  double low = kUnknown, high = kUnknown, error = kUnknown;
};

// What shows that a minimum was found.
struct Convergence {
  // at the end, of the objective over centred logarithms; least absolutes: smoothed over the last
  // delta
  double gradient_norm = kUnknown;
  int64_t starts = 0;
  double best_share = kUnknown;  // of starts that came within 0.1% of the best objective
  // of the Hessian; for least absolutes, which have none, of Gauss-Newton's matrix
  double condition = kUnknown;
  double second_solver = kUnknown;  // its objective, found in another way
  // The gradient vanishes, the end is a minimum of full rank, no term has vanished, the runs show
  // every power (without any of them the residuals are larger than by chance, an F test at 1%), the
  // solvers agree.
  bool converged = false;
  std::string problem;  // why not
};

// Of residuals r of ln L, summed: r^2 / 2 up to delta and delta (|r| - delta / 2) beyond (Huber),
// |r|, r^2. The replication of Besiroglu et al. (2024) is in effect the second: its scale floats,
// and ends at a delta of 5e-9.
enum class LossKind { huber, absolute, squared };
struct ParametricOptions {
  LossKind kind = LossKind::huber;
  double delta = 1e-3;  // of Huber's
  // all 4,500 starts of the paper, instead of the best of a scored grid; read by fit_chinchilla
  // alone
  bool every_start = false;
  int64_t resamples = 4000;  // of the bootstrap over clusters; 0: no intervals
  uint64_t seed = 42;
  int threads = 0;  // 0: as many as OMP_NUM_THREADS says, else all of this machine
  bool show_progress = false;
};

// What every fit to points has.
template <class Law>
struct LawFit {
  Law law;
  double objective = kUnknown;  // the sum over points
  Convergence convergence;
  int64_t failed_draws = 0;  // of the resamples, those that did not converge or are no law
};

// Approach 3.
struct ParametricFit : LawFit<ChinchillaLaw> {
  Interval e, a, b, alpha, beta, n_exponent;
  // Of the bootstrap, those that converged with positive exponents; where these are fewer than half
  // they say nothing: none, and no intervals.
  std::vector<ChinchillaLaw> draws;
};
// A usage error that names what is missing: fewer than 6 points or (for intervals) clusters, fewer
// than 3 sizes or numbers of tokens, one ratio D/N, one budget only, D a power of N, a constant
// loss, N, D or loss not positive, or a Jacobian of lower rank. A fit whose law says nothing for
// another reason, such as a negative exponent, comes back with convergence.converged false and says
// why.
ParametricFit fit_chinchilla(std::span<const ScalingPoint> points,
                             const ParametricOptions& options);

// Whether budgets have a best size by a law: its minimum was found, and A, B, alpha and beta are
// above 0.
bool has_optimum(const ParametricFit& fit);

// A band of a quantity over the draws of a fit; draws where it is not finite are left out. Without
// draws its ends are unknown.
Interval band(const ChinchillaLaw& best, std::span<const ChinchillaLaw> draws,
              const std::function<double(const ChinchillaLaw&)>& quantity);

// ln y on ln x by (weighted) least squares, intervals by bootstrap over the clusters; pairs that
// all have one cluster are resampled one by one. A usage error unless x, y and weights are positive
// and there are two x; no intervals from two clusters.
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
// Of the quotient of two, whose draws belong together; without intervals of its own.
PowerFit quotient(const PowerFit& over, const PowerFit& under);

struct OffsetPowerFit {
  OffsetPowerLaw law;
  Convergence convergence;
  Interval e, k, p;
  // of the bootstrap, those that converged with a positive exponent
  std::vector<OffsetPowerLaw> draws;
  int64_t failed_draws = 0;  // the others
};
// Of residuals of ln y. A usage error below 4 different x, or where all y are one.
OffsetPowerFit fit_offset_power(std::span<const XY> pairs, const ParametricOptions& options);
// For pairs that are made of several runs each: the law of `pairs`, its draws from those that were
// made again of resampled runs. A resample with fewer than 4 different x fails. options.resamples
// is not read.
OffsetPowerFit fit_offset_power(std::span<const XY> pairs,
                                std::span<const std::vector<XY>> resampled,
                                const ParametricOptions& options);

// Here and below intervals are unknown where fewer than half of the resamples converged.
struct KaplanFit : LawFit<KaplanLaw> {
  Interval a_n, a_d, n_c, d_c;
};
// These two: a usage error below 6 points, for a constant loss, for points that have no C where the
// law has it, and for a design that cannot separate the unknowns: of Kaplan's law one N, one D or D
// a power of N; of the over-training law one ratio D/N or one C.
KaplanFit fit_kaplan(std::span<const ScalingPoint> points, const ParametricOptions& options);

struct OverTrainingFit : LawFit<OverTrainingLaw> {
  Interval e, a, b, h;
};
OverTrainingFit fit_over_training(std::span<const ScalingPoint> points,
                                  const ParametricOptions& options);

// Muennighoff et al. (2023), in their two steps: approach 3's law of the runs on fresh data, then
// R_D and R_N of those that see data again.
// Convergence is that of the second step, over ln R_D and ln R_N; the other solver is a simplex.
// r_n of the law is infinite where these runs do not show it.
struct DataLimitedFit : LawFit<DataLimitedLaw> {
  ParametricFit fresh;      // the first step, without intervals
  Interval r_d, r_n;        // of resamples of all runs through both steps
  std::string r_n_problem;  // why R_N is not fitted
  int64_t repeated = 0;     // runs of the second step
};
// Points are repeated where D is above unique_tokens. A usage error where fewer than 3 are, and
// where approach 3 refuses the others or finds no optimum for them. Least absolutes are taken as
// Huber's in the second step.
DataLimitedFit fit_data_limited(std::span<const ScalingPoint> points,
                                const ParametricOptions& options);

}  // namespace skein::scaling::fit
