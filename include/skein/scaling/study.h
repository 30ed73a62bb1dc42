// All fits of one table: what `skein fit` prints and writes, `skein report` draws and `skein plan` goes by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skein/scaling/isoflop.h"

namespace skein {

struct StudyOptions {
  Convention convention;      // of the main fit
  bool all_conventions = true;
  ParametricOptions parametric;
  IsoflopOptions isoflop;
  double target = 0;          // FLOPs to predict for; 0: ten times the largest budget
};

// What the fits say of a budget.
struct TargetPrediction {
  double flops = 0;
  double beyond = 0;        // target over the largest budget that was fitted
  Interval n, d, ratio, loss;  // approach 3
  Interval isoflop_n, isoflop_d, isoflop_loss;
};

struct ConventionStudy {
  Convention convention;
  std::vector<ScalingPoint> points;
  std::optional<ParametricFit> parametric;  // none: refused, see problem
  std::string parametric_problem;
  IsoflopFit isoflop;
  EnvelopeFit envelope;
};

struct Study {
  ScalingTable table;
  ConventionStudy main;
  std::vector<ConventionStudy> others;  // exponents alone: 200 resamples
  std::vector<HeldOut> comparison;
  std::optional<OffsetPowerFit> loss_of_n, loss_of_d;  // at the largest D of each N and the largest N of each D; none: too few
  std::optional<TargetPrediction> target;
  std::vector<std::string> warnings;    // with lines
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
