// All fits of one table: what `skein fit` prints and writes, `skein report` draws and `skein plan`
// goes by.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/scaling/fit/isoflop.h"
#include "skein/scaling/study/coordinate_check.h"
#include "skein/scaling/study/critical_batch.h"
#include "skein/scaling/study/trained_with.h"

namespace skein::scaling::study {

// Where the runs come from.
struct StudyInput {
  std::string path;    // CSV, the results.h5 or the folder of a sweep
  std::string curves;  // CSV of run, tokens or step, loss; "": curves.csv of a folder, else none
  TableOptions table;
  ExclusionRules exclusions;
};
void bind(Options& options, StudyInput& input);
// The table with its curves, excluded runs marked.
ScalingTable read_input(const StudyInput& input);

enum class Approach { all, envelope, isoflop, parametric };
// One that is fitted alone, without any approach, and is refused by its own needs only.
enum class Law { all, loss_of_n, loss_of_d, loss_of_c, kaplan, over_training, data_limited };

struct StudyOptions {
  Approach approach = Approach::all;
  Law law = Law::all;     // another one: approach must be `all`
  bool must_fit = true;   // false: where nothing can be fitted, Study::problem says why
  Convention convention;  // of the main fit; settled() by the table
  bool all_conventions = true;
  fit::ParametricOptions parametric;
  fit::IsoflopOptions isoflop;
  int64_t curve_points = 0;  // of each curve, fitted by approach 3 beside the runs' ends
  double target = 0;         // FLOPs to predict for; 0: ten times the largest budget
};

void bind(Options& options, StudyOptions& study);

// What the fits say of a budget; unknown: the approach is not fitted.
struct Prediction {
  // ratio: tokens per parameter; loss of approaches 1, 2: by offset law
  fit::Interval n, d, ratio, loss;
};
struct TargetPrediction {
  double flops = 0;
  double beyond = 0;  // target over the largest budget that was fitted
  Prediction parametric, isoflop, envelope;
};

struct ConventionStudy {
  Convention convention;
  std::vector<ScalingPoint> points;
  std::vector<ScalingPoint> curve_points;        // that approach 3 is fitted to as well
  PowerLaw flops_per_token{6, 1};                // of N: C / D
  fit::Interval n_exponent, d_exponent;          // approach 3: of N* and D* over C
  std::optional<fit::ParametricFit> parametric;  // none: refused, see problem
  std::string parametric_problem;
  fit::IsoflopFit isoflop;
  fit::EnvelopeFit envelope;
};

// Whether approach 3 says of a budget how it is spent best: a law that has an optimum, and C / D a
// function of N that is known.
bool names_optimum(const ConventionStudy& study);

// A law beside approach 3's; none: see problem.
template <class Fit>
struct OtherLaw {
  std::optional<Fit> fit;
  std::string problem;
};

// L(N), L(D) or L(C), with an offset and without; none: see problem.
struct SingleLaw {
  std::optional<fit::OffsetPowerFit> offset;
  std::optional<fit::PowerFit> power;  // as Kaplan et al. (2020) have it: L = (x_c / x)^p
  std::string problem;
};

// A fitted run whose loss is 20% or more off the law.
struct Outlier {
  int64_t run = 0;                  // index into ScalingTable::runs
  double found = 0, predicted = 0;  // losses
};

// Every law fitted without the largest budget (the runs whose C is within 10% of the largest) and
// asked for it: Chinchilla's, the same with alpha = beta, Kaplan's of N and D, the over-training
// law, and a pure power of C through the lowest loss of each budget.
struct HeldOutFit {
  std::string law;           // "E + A/N^alpha + B/D^beta"
  double budget = kUnknown;  // smallest C that was held out
  int64_t fitted = 0, held_out = 0;
  // of ln L, predicted less measured: the mean with its sign, the largest by size
  double mean_error = kUnknown, worst_error = kUnknown;
  bool converged = false;
  std::string problem;
};
std::vector<HeldOutFit> compare_laws(std::span<const ScalingPoint> points,
                                     const fit::ParametricOptions& options);

struct Study {
  StudyOptions options;
  ScalingTable table;
  std::string problem;  // why nothing is fitted; "": something is
  ConventionStudy main;
  std::vector<ConventionStudy> others;  // exponents alone: 200 resamples
  // the main one with the runs that rules exclude put back: 200 resamples; none: no such runs
  std::optional<ConventionStudy> with_excluded;
  std::vector<HeldOutFit> comparison;
  // Over N of runs within a factor of 2 of the largest D, over D of runs within a factor of 2 of
  // the largest N, and over C the lowest loss of each budget. The last one holds for the way in
  // which these runs divide C between N and D, good or bad.
  SingleLaw loss_of_n, loss_of_d, loss_of_c;
  // Of all runs of the main fit, by its loss of residuals; up to 1,000 resamples.
  OtherLaw<fit::KaplanFit> kaplan;
  OtherLaw<fit::OverTrainingFit> over_training;
  OtherLaw<fit::DataLimitedFit> data_limited;
  CriticalBatchFit critical_batch;
  // Of approach 3's law, or of the law of N and D that is asked for alone; furthest off first.
  std::vector<Outlier> outliers;
  RunSettings trained_with;
  std::optional<TargetPrediction> target;
  std::vector<std::string> warnings;         // with lines
  std::vector<CoordinateCheck> coordinates;  // of muP, for the report; make_study leaves it empty
};

// A usage error where no run is done, and where not one of the three approaches, or not the one law
// that is asked for, can be fitted, unless options.must_fit is false.
Study make_study(const ScalingTable& table, const StudyOptions& options);
// JSON with null for what is unknown, 17 digits.
std::string study_json(const Study& study);
// For the terminal.
std::string study_text(const Study& study);
// What `skein plan --fit` reads back: the law and its draws. A usage error for anything else.
fit::ParametricFit read_fit(const std::string& json_path);

}  // namespace skein::scaling::study
