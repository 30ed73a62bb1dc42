// All fits of one table: what `skein fit` prints and writes, `skein report` draws and `skein plan` goes by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options.h"
#include "skein/scaling/coordinate_check.h"
#include "skein/scaling/critical_batch.h"
#include "skein/scaling/isoflop.h"

namespace skein {

// Where the runs come from.
struct StudyInput {
  std::string path;    // CSV, the results.h5 or the folder of a sweep
  std::string curves;  // CSV of run, tokens, loss; "": curves.csv of a folder, else none
  TableOptions table;
  ExclusionRules exclusions;
};
void bind(Options& options, StudyInput& input);
// The table with its curves, excluded runs marked.
ScalingTable read_input(const StudyInput& input);

enum class Approach { all, envelope, isoflop, parametric };

struct StudyOptions {
  Approach approach = Approach::all;
  Convention convention;      // of the main fit; settled() by the table
  bool all_conventions = true;
  ParametricOptions parametric;
  IsoflopOptions isoflop;
  double target = 0;          // FLOPs to predict for; 0: ten times the largest budget
};

void bind(Options& options, StudyOptions& study);

// What the fits say of a budget.
struct TargetPrediction {
  double flops = 0;
  double beyond = 0;        // target over the largest budget that was fitted
  Interval n, d, ratio, loss;  // approach 3; ratio: tokens per parameter
  Interval isoflop_n, isoflop_d, isoflop_loss;  // approach 2; the loss by its offset law
  Interval isoflop_ratio{};
  Interval envelope_n{}, envelope_d{}, envelope_ratio{}, envelope_loss{};  // approach 1, likewise
};

struct ConventionStudy {
  Convention convention;
  std::vector<ScalingPoint> points;
  PowerLaw flops_per_token{6, 1};           // of N: C / D
  Interval n_exponent, d_exponent;          // approach 3: of N* and D* over C
  std::optional<ParametricFit> parametric;  // none: refused, see problem
  std::string parametric_problem;
  IsoflopFit isoflop;
  EnvelopeFit envelope;
};

// Whether approach 3 says of a budget how it is spent best: a law that has an optimum, and C / D a function of N that is known.
bool names_optimum(const ConventionStudy& study);

// A law beside approach 3's; none: see problem.
template <class Fit>
struct LawBeside {
  std::optional<Fit> fit;
  std::string problem;
};

struct Study {
  StudyOptions options;
  ScalingTable table;
  ConventionStudy main;
  std::vector<ConventionStudy> others;  // exponents alone: 200 resamples
  std::optional<ConventionStudy> with_excluded;  // the main one with the runs that rules exclude put back: 200 resamples; none: no such runs
  std::vector<HeldOut> comparison;
  // Over N of runs within a factor of 2 of the largest D, and over D of runs within a factor of 2 of the largest N; none: too few of them.
  std::optional<OffsetPowerFit> loss_of_n, loss_of_d;
  // Through the same runs without an offset, as Kaplan et al. (2020) have it: L = (x_c / x)^p.
  std::optional<PowerFit> power_of_n, power_of_d;
  // Of all runs of the main fit, by its loss of residuals; up to 1,000 resamples.
  LawBeside<KaplanFit> kaplan;
  LawBeside<OverTrainingFit> over_training;
  LawBeside<DataLimitedFit> data_limited;
  CriticalBatchFit critical_batch;
  std::optional<TargetPrediction> target;
  std::vector<std::string> warnings;    // with lines
  std::vector<CoordinateCheck> coordinates;  // of muP, for the report; make_study leaves it empty
};

// A usage error where not one of the three approaches can be fitted.
Study make_study(const ScalingTable& table, const StudyOptions& options);
// JSON with null for what is unknown, 17 digits.
std::string study_json(const Study& study);
// For the terminal.
std::string study_text(const Study& study);
// What `skein plan --fit` reads back: the law and its draws. A usage error for anything else.
ParametricFit read_fit(const std::string& json_path);

}  // namespace skein
