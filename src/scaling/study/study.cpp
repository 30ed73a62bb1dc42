#include "skein/scaling/study/study.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"

#include "names.h"
#include "parts.h"
#include "scaling/laws/left_out.h"

namespace skein::scaling::study {
namespace {

constexpr int64_t kResamplesOfStudies = 200;
constexpr double kMostOffPath = 1.3;
constexpr size_t kMostReasons = 8;

// By how much the power law of C / D misses the run that it misses most.
double worst_ratio(const ConventionStudy& study) {
  double worst = 1;
  for (const ScalingPoint& point : study.points) {
    const double ratio = point.c / point.d / study.flops_per_token.at(point.n);
    worst = std::max({worst, ratio, 1 / ratio});
  }
  return worst;
}

void fit_parametric(ConventionStudy& study, const StudyOptions& options) {
  if (!asks(options, Approach::parametric)) {
    study.parametric_problem = not_asked(options);
    return;
  }
  std::vector<ScalingPoint> points = study.points;
  points.insert(points.end(), study.curve_points.begin(), study.curve_points.end());
  study.parametric_problem =
      refusal_of([&] { study.parametric = fit_chinchilla(points, options.parametric); });
  if (!names_optimum(study)) return;
  const auto over = [&](const auto& quantity) {
    return fit::band(study.parametric->law, study.parametric->draws, quantity);
  };
  study.n_exponent = over([&](const ChinchillaLaw& law) {
    return fit::efficient_exponent(law, study.flops_per_token);
  });
  study.d_exponent = over([&](const ChinchillaLaw& law) {
    return 1 - study.flops_per_token.exponent * fit::efficient_exponent(law, study.flops_per_token);
  });
}

ConventionStudy study_of(const ScalingTable& table, const Convention& convention,
                         const StudyOptions& options) {
  ConventionStudy study;
  study.convention = convention;
  study.points = points_of(table, convention);
  require(!study.points.empty(), "{}: none of {} runs is done; there is nothing to fit{}",
          table.path, table.runs.size(), left_out_text(table, kMostReasons));
  study.isoflop.problem = study.envelope.problem = not_asked(options);
  study.flops_per_token = fit::flops_per_token(study.points);
  study.curve_points = curve_points_of(table, study.points, options.curve_points);
  require(options.curve_points == 0 || !study.curve_points.empty(),
          "fit.curves={} asks for points of learning curves, and no run that is done has any; give "
          "them by data.curves",
          options.curve_points);
  fit_parametric(study, options);
  if (asks(options, Approach::isoflop)) study.isoflop = fit_isoflop(study.points, options.isoflop);
  if (asks(options, Approach::envelope))
    study.envelope = fit_envelope(table, convention, options.isoflop);
  if (names_optimum(study))
    find_bias(study.isoflop, study.points, study.parametric->law, study.flops_per_token);
  return study;
}

StudyOptions beside(const StudyOptions& options) {
  StudyOptions fewer = options;
  fewer.parametric.resamples = std::min(options.parametric.resamples, kResamplesOfStudies);
  fewer.isoflop.resamples = fewer.parametric.resamples;
  fewer.parametric.show_progress = false;
  return fewer;
}

template <class Fit>
std::string problem_of(const OtherLaw<Fit>& law) {
  const std::string why = not_converged(law);
  return why.empty() ? law.problem : "it " + why;
}

// Of the law that is asked for alone.
std::string problem_of_law(const Study& study) {
  for (const NamedSingleLaw& one : kSingleLaws)
    if (one.law == study.options.law)
      return (study.*one.fits).power ? "" : (study.*one.fits).problem;
  if (study.options.law == Law::kaplan) return problem_of(study.kaplan);
  if (study.options.law == Law::over_training) return problem_of(study.over_training);
  return problem_of(study.data_limited);
}

// Why nothing is fitted; "": something is.
std::string problem_of_approaches(const Study& study) {
  const ConventionStudy& main = study.main;
  if (main.parametric || main.isoflop.valid() || main.envelope.valid()) return "";
  return fmt::format(
      "{}: none of the three approaches can be fitted under {}\n  approach 1: {}\n  approach 2: "
      "{}\n  approach 3: {}{}\n  (fit.law=loss_of_n, loss_of_d or loss_of_c asks for one law "
      "alone)",
      study.table.path, name(main.convention), main.envelope.problem, main.isoflop.problem,
      main.parametric_problem, left_out_text(study.table, kMostReasons));
}

std::string problem_of(const Study& study) {
  if (study.options.law == Law::all) return problem_of_approaches(study);
  const std::string problem = problem_of_law(study);
  if (problem.empty()) return "";
  return fmt::format("{}: fit.law={} cannot be fitted under {}: {}{}", study.table.path,
                     name_of(study.options.law), name(study.main.convention), problem,
                     left_out_text(study.table, kMostReasons));
}

std::optional<ConventionStudy> with_excluded(const ScalingTable& table,
                                             const Convention& convention,
                                             const StudyOptions& options) {
  if (std::ranges::count(table.runs, "excluded", &ScalingRun::status) == 0) return std::nullopt;
  ScalingTable all = table;
  for (ScalingRun& run : all.runs)
    if (run.status == "excluded") run.status = "done";
  return study_of(all, convention, beside(options));
}

void compare(Study& study, const StudyOptions& options) {
  if (!asks(options, Approach::parametric)) return;
  fit::ParametricOptions quiet = options.parametric;
  quiet.show_progress = false;
  const std::string refusal =
      refusal_of([&] { study.comparison = compare_laws(study.main.points, quiet); });
  if (!refusal.empty()) study.warnings.push_back("laws are not compared: " + refusal);
}

void check(const StudyOptions& options) {
  require(options.parametric.resamples >= 0, "fit.resamples={} must not be negative",
          options.parametric.resamples);
  require(options.parametric.delta > 0 && std::isfinite(options.parametric.delta),
          "fit.delta={} must be above 0, such as 0.001", options.parametric.delta);
  require(options.parametric.threads >= 0 && options.parametric.threads <= 1024,
          "fit.threads={} must lie between 0 (all) and 1024", options.parametric.threads);
  require(options.law == Law::all || options.approach == Approach::all,
          "fit.law={} asks for one law alone, and fit.approach for one approach alone; give one of "
          "the two",
          name_of(options.law));
  require(options.curve_points >= 0 && options.curve_points <= 1000,
          "fit.curves={} must lie between 0 (none) and 1000 points", options.curve_points);
  require(std::isfinite(options.target) && options.target >= 0, "fit.target={} must be FLOPs, or 0",
          options.target);
}

StudyOptions settled_options(const StudyOptions& given, const ScalingTable& table) {
  StudyOptions options = given;
  check(options);
  options.convention = settled(given.convention, table);
  options.isoflop.resamples = options.parametric.resamples;
  options.isoflop.seed = options.parametric.seed;
  options.isoflop.threads = options.parametric.threads;
  return options;
}

void refuse_unfitted(Study& study) {
  study.problem = problem_of(study);
  require(study.problem.empty() || !study.options.must_fit, "{}", study.problem);
}

// Other ways of counting, the excluded runs, other laws, the critical batch size and the target.
void add_what_stands_beside(Study& study) {
  const StudyOptions& options = study.options;
  const ScalingTable& table = study.table;
  if (options.all_conventions) {
    for (const Convention& convention : conventions_of(table))
      if (!(convention == options.convention))
        study.others.push_back(study_of(table, convention, beside(options)));
  }
  study.with_excluded = with_excluded(table, options.convention, options);
  compare(study, options);
  study.critical_batch = fit_critical_batch(table);
  study.target = predict_target(study.main, options.target);
  if (study.main.parametric && worst_ratio(study.main) >= kMostOffPath)
    study.warnings.push_back(
        fmt::format("approach 3 names no N* and D*: C / D of these runs is no power of N under "
                    "this way of counting (off by up to {:.3g} times); count otherwise",
                    worst_ratio(study.main)));
}

}  // namespace

bool asks(const StudyOptions& options, Approach approach) {
  return options.law == Law::all &&
         (options.approach == Approach::all || options.approach == approach);
}

bool asks(const StudyOptions& options, Law law) {
  return options.law == Law::all || options.law == law;
}

std::string not_asked(const StudyOptions& options) {
  return options.law == Law::all ? "not asked for (fit.approach)" : "not asked for (fit.law)";
}

bool names_optimum(const ConventionStudy& study) {
  return study.parametric && has_optimum(*study.parametric) && worst_ratio(study) < kMostOffPath;
}

Study make_study(const ScalingTable& table, const StudyOptions& given) {
  Study study;
  study.options = settled_options(given, table);
  study.table = table;
  study.warnings = table.warnings;
  study.main = study_of(table, study.options.convention, study.options);
  study.critical_batch.problem = not_asked(study.options);
  const bool alone = study.options.law != Law::all;
  if (!alone) refuse_unfitted(study);
  fit_laws_beside(study);
  if (alone) refuse_unfitted(study);
  if (!alone && study.problem.empty()) add_what_stands_beside(study);
  study.trained_with = trained_with(table, study.options.convention);
  study.outliers = outliers_of(study);
  for (std::string& warning : warnings_of(study)) study.warnings.push_back(std::move(warning));
  return study;
}

}  // namespace skein::scaling::study
