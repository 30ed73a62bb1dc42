// Approaches 1 and 2 of Hoffmann et al. (2022): the envelope of training curves, and parabolas of
// the loss over sizes at fixed compute.
#pragma once

#include "skein/scaling/fit/fit.h"

namespace skein::scaling::fit {

// The parabola loss = curvature (ln n - ln n_best)^2 / 2 + loss_best of one budget, and another one
// over ln d: n d is c / 6 only where FLOPs are 6 n d. Of a law with alpha != beta, a parabola's
// vertex is not the minimum (Czech et al., "Problems with Chinchilla approach 2", 2026): n_bias and
// d_bias say by how much.
struct IsoflopBudget {
  double flops = 0;
  std::vector<int64_t> points;                         // indices into the points fitted
  double n = kUnknown, d = kUnknown, loss = kUnknown;  // at the vertex
  double curvature = kUnknown;                         // second derivative of the loss over ln n
  double half_width = kUnknown;                        // of the grid of sizes, in ln n
  double centre_offset = kUnknown;  // of the grid's centre from the vertex, in ln n
  // Vertices of approach 3's law at these very sizes and tokens, over the law's own optimum, less
  // 1; unknown without that fit.
  double n_bias = kUnknown, d_bias = kUnknown;
  // why it has no vertex that counts: "minimum beyond the largest size", "concave", "two sizes"
  std::string problem;
};

// All but fewest_runs are of approach 1, too.
struct IsoflopOptions {
  double tolerance = 0.1;   // runs whose C is within so much (relative) are of one budget
  int64_t fewest_runs = 3;  // budgets with fewer are left out
  int64_t resamples = 4000;
  uint64_t seed = 42;
  int threads = 0;  // as of ParametricOptions
};

// What is best at each C.
struct LawsOfC {
  PowerFit n_of_c, d_of_c;
  PowerFit loss_of_c;  // without an offset, within the budgets alone
  // E + k C^-p by Huber's loss of ln L; where it is none, its convergence says why
  OffsetPowerFit offset_loss_of_c;
  int64_t resamples = 0, failed_draws = 0;  // failed: those in which too few budgets have a best
  std::string problem;                      // why there is no fit
  bool valid() const { return problem.empty(); }
};

// Through the vertices that count.
struct IsoflopFit : LawsOfC {
  std::vector<IsoflopBudget> budgets;
};
// Intervals by bootstrap: runs are drawn anew within each budget and its vertices found again.
IsoflopFit fit_isoflop(std::span<const ScalingPoint> points, const IsoflopOptions& options);
// Fills in n_bias and d_bias of the budgets that have a vertex. flops_per_token: of N, C / D of
// these runs.
void find_bias(IsoflopFit& fit, std::span<const ScalingPoint> points, const ChinchillaLaw& law,
               const PowerLaw& flops_per_token);

// C / D as a power law of N over these runs: 6 N where FLOPs are 6 N D, something else where they
// are not.
PowerLaw flops_per_token(std::span<const ScalingPoint> points);
// Where a law's loss is least for C = D flops_per_token(N) = c N^s D: N* = [alpha A / (s beta
// B)]^(1 / (alpha + s beta)) (C/c)^(beta / (alpha + s beta)). So N* grows as C^efficient_exponent:
// beta / (alpha + s beta); s is 1 for 6 N D.
Optimum efficient(const ChinchillaLaw& law, double flops, const PowerLaw& flops_per_token);
double efficient_exponent(const ChinchillaLaw& law, const PowerLaw& flops_per_token);

// Half of the way, in ln N and ln D, from a winner to the next size that was tried at its compute.
struct HalfWay {
  double n = kUnknown, d = kUnknown;
};
struct EnvelopePoint {
  double c = 0, n = 0, d = 0, loss = 0;
  int64_t run = 0;
  HalfWay to_smaller = {}, to_larger = {};  // of last points: unknown for curves
};
// offset_loss_of_c goes through at most 64 points of the envelope, evenly chosen.
struct EnvelopeFit : LawsOfC {
  std::vector<EnvelopePoint> envelope;  // by rising C
  bool from_curves = false;
  // runs, where the others have them: one such, and all go by last points
  int64_t without_curves = 0;
  int64_t budgets = 0;  // that were looked at; those of `envelope` are the ones that count
};
// Whether it says of N* how far it may be off: not where resamples were asked for, and fewer than
// half of them left a fit.
bool knows_exponent(const EnvelopeFit& fit);
// Each curve's ln L is averaged over 5% of tokens around each point and interpolated over ln C; at
// 1,500 budgets spaced evenly in ln C the lowest curve counts, unless it is of the smallest or of
// the largest model that has a curve there: there the sizes end, not the optimum. Intervals by
// bootstrap over runs.
// Without curves: of each budget (as in approach 2) the run of lowest loss, if a smaller model
// trained on more tokens and a larger one on fewer did worse. Of its best size such a budget knows
// no more than that it lies nearer to the winner than to the sizes beside it, so each resample also
// moves the winners between the two half-ways: by shares that are a line in ln C, drawn evenly at
// both of its ends. Refused below 3 sizes that win.
EnvelopeFit fit_envelope(const ScalingTable& table, const Convention& convention,
                         const IsoflopOptions& options);

}  // namespace skein::scaling::fit
