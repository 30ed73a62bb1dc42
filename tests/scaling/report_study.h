// A study by hand: what fits of 35 runs of a known law would say.
#pragma once

#include <cmath>
#include <fmt/format.h>

#include "skein/core/philox.h"
#include "skein/scaling/study/study.h"

namespace skein::scaling {

inline const ChinchillaLaw kTruth{1.7, 400, 1200, 0.34, 0.37};
inline const std::string kNastyName = "<b>\"q'&`@x`";

inline ScalingRun report_run(double n, double c, int64_t line) {
  const double d = c / (6 * n), wobble = 0.004 * std::sin(12.9898 * static_cast<double>(line));
  ScalingRun run;
  run.name = fmt::format("run{}", line);
  run.line = line;
  run.n_params = n;
  run.tokens = d;
  run.flops = c;
  run.lr = 1e-3;
  run.loss = kTruth.loss(n, d) * std::exp(wobble);
  for (double share = 0.05; share < 1; share *= 1.5)
    run.curve.push_back({share * d, kTruth.loss(n, share * d) * 1.01});
  run.curve.push_back({d, run.loss});
  return run;
}

inline fit::Interval around(double value, double error) {
  return {value, value - 2 * error, value + 2 * error, error};
}

inline fit::PowerFit power_fit(double exponent, double error, double x, double y) {
  fit::PowerFit fit;
  const auto through = [&](double p) { return PowerLaw{y / std::pow(x, p), p}; };
  fit.law = through(exponent);
  fit.exponent = around(exponent, error);
  fit.coefficient = {fit.law.coefficient};
  for (int i = -20; i <= 20; ++i) fit.draws.push_back(through(exponent + error * i / 10));
  return fit;
}

inline fit::ParametricFit report_fit() {
  fit::ParametricFit fit;
  fit.law = kTruth;
  fit.objective = 1e-3;
  fit.convergence = {1e-9, 80, 0.4, 350, 1e-3, true, ""};
  fit.e = around(kTruth.e, 0.02), fit.a = around(kTruth.a, 40), fit.b = around(kTruth.b, 200);
  fit.alpha = around(kTruth.alpha, 0.01), fit.beta = around(kTruth.beta, 0.02),
  fit.n_exponent = around(kTruth.n_exponent(), 0.015);
  for (int i = 0; i < 200; ++i) {
    const auto wave = [&](double a) { return std::sin(a * (i + 1)) + std::sin(1.7 * a * (i + 3)); };
    ChinchillaLaw law = kTruth;
    law.e += 0.02 * wave(1.1);
    law.alpha += 0.01 * wave(2.3);
    law.beta += 0.02 * wave(3.7);
    law.a *= std::exp(18 * (law.alpha - kTruth.alpha));
    law.b *= std::exp(21 * (law.beta - kTruth.beta));
    fit.draws.push_back(law);
  }
  return fit;
}

inline fit::IsoflopBudget report_budget(const std::vector<ScalingPoint>& points, double c) {
  fit::IsoflopBudget made;
  made.flops = c;
  for (size_t i = 0; i < points.size(); ++i)
    if (points[i].c == c) made.points.push_back(static_cast<int64_t>(i));
  const Optimum best = optimum(kTruth, c);
  made.n = best.n, made.d = best.d, made.loss = best.loss;
  made.curvature = 0.08, made.half_width = std::log(8), made.centre_offset = 0.1;
  return made;
}

inline study::Study report_study() {
  study::Study study;
  study.options.parametric.resamples = 20;
  study.table.path = "results <1> & \"two\".csv";
  study.main.convention = {ParameterCount::given, FlopCount::given};
  for (const double c : {1e17, 4e17, 1.6e18, 6.4e18, 2.56e19})
    for (int size = -3; size <= 3; ++size)
      study.table.runs.push_back(report_run(std::round(optimum(kTruth, c).n * std::pow(2, size)), c,
                                            2 + static_cast<int64_t>(study.table.runs.size())));
  study.table.runs[17].name = kNastyName;
  study.table.runs[17].loss *= 1.06;
  ScalingRun diverged = report_run(1e8, 1e18, 40);
  diverged.name = "wild", diverged.status = "diverged",
  diverged.reason = "its loss rose to <nan> & stayed", diverged.loss = kUnknown;
  study.table.runs.push_back(diverged);
  for (size_t i = 0; i + 1 < study.table.runs.size(); ++i) {
    const ScalingRun& run = study.table.runs[i];
    study.main.points.push_back({run.n_params, run.tokens, run.flops, run.loss,
                                 static_cast<int64_t>(i), static_cast<int64_t>(i)});
  }
  study.main.parametric = report_fit();
  study.main.n_exponent = around(0.521, 0.015), study.main.d_exponent = around(0.479, 0.015);
  for (const double c : {1e17, 4e17, 1.6e18, 6.4e18, 2.56e19})
    study.main.isoflop.budgets.push_back(report_budget(study.main.points, c));
  study.main.isoflop.budgets.back().problem = "minimum beyond the largest size";
  const Optimum middle = optimum(kTruth, 1.6e18);
  study.main.isoflop.n_of_c = power_fit(0.52, 0.02, 1.6e18, middle.n);
  study.main.isoflop.d_of_c = power_fit(0.48, 0.02, 1.6e18, middle.d);
  for (size_t i = 0; i < study.main.points.size(); i += 7)
    study.main.envelope.envelope.push_back(
        {study.main.points[i + 3].c, study.main.points[i + 3].n, study.main.points[i + 3].d,
         study.main.points[i + 3].loss, study.main.points[i + 3].run});
  study.main.envelope.n_of_c = power_fit(0.5, 0.03, 1.6e18, middle.n * 1.1);
  study.main.envelope.d_of_c = power_fit(0.5, 0.03, 1.6e18, middle.d / 1.1);
  study.main.envelope.loss_of_c = power_fit(-0.09, 0.002, 1.6e18, middle.loss);
  study.main.envelope.from_curves = true;
  study::ConventionStudy other = study.main;
  other.convention = {ParameterCount::blocks, FlopCount::exact};
  other.n_exponent = around(0.713, 0.02);
  study.others.push_back(other);
  study.comparison.push_back({"E + A/N^alpha + B/D^beta", 2.56e19, 28, 7, 0.0031, 0.008, true, ""});
  study.comparison.push_back({"k C^-p", 2.56e19, 28, 7, -0.04, -0.06, true, ""});
  const Optimum far = optimum(kTruth, 2.56e20);
  study.target = study::TargetPrediction{
      2.56e20,
      10,
      {around(far.n, far.n / 10), around(far.d, far.d / 12), around(far.ratio(), far.ratio() / 6),
       around(far.loss, 0.01)},
      {around(far.n * 1.1, far.n / 9), around(far.d / 1.1, far.d / 9), {}, {}},
      {}};
  study.warnings = {"2 rows say the same (lines 3, 4); one is kept",
                    "FLOPs of <line 9> differ from 6 N D by 31%"};
  return study;
}

}  // namespace skein::scaling
