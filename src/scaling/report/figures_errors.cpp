// Figures of what the fit leaves over and of how well it is known.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <numeric>

#include "skein/scaling/report/text.h"

#include "figures.h"

namespace skein::scaling::report {
namespace {

constexpr size_t kMostNames = 4;
constexpr int kDensityPoints = 121;

// The quantile of the standard normal distribution by bisection of the error function.
double normal_quantile(double share) {
  double low = -9, high = 9;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2)) / 2 < share ? low : high) = middle;
  }
  return (low + high) / 2;
}

double deviation(const std::vector<double>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / values.size();
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / values.size());
}

struct Residuals {
  std::vector<double> values;
  std::vector<size_t> far;
};

void add_residuals(Figure& figure, const study::Study& study, const Residuals& residuals,
                   const char* title, const Axis& axis, double ScalingPoint::*over) {
  Panel panel{title, axis, {"ln L - ln fit"}};
  Series usual{"runs", Ink::isoflop, Mark::dots, 1.6},
      far{"outliers", Ink::alert, Mark::rings, 2.2};
  double low = INFINITY, high = 0;
  for (size_t i = 0; i < residuals.values.size(); ++i) {
    const ScalingPoint& point = study.main.points[i];
    const size_t index = std::ranges::find(residuals.far, i) - residuals.far.begin();
    Series& series = index == residuals.far.size() ? usual : far;
    const bool named = index < std::min(kMostNames, residuals.far.size());
    series.samples.push_back({point.*over, residuals.values[i], run_name(study, point.run), named});
    low = std::min(low, point.*over), high = std::max(high, point.*over);
  }
  panel.series = {straight("", Ink::faint, Mark::line, 1, {low, 0}, {high, 0}), usual, far};
  figure.panels.push_back(panel);
}

void add_quantiles(Figure& figure, const std::vector<double>& residuals) {
  std::vector<double> sorted = residuals;
  std::sort(sorted.begin(), sorted.end());
  Series dots{"runs", Ink::isoflop, Mark::dots, 1.6};
  for (size_t i = 0; i < sorted.size(); ++i)
    dots.samples.push_back({normal_quantile((i + 0.5) / sorted.size()), sorted[i]});
  // Through the quartiles, which outliers do not move.
  const double low = sorted[sorted.size() / 4], high = sorted[3 * sorted.size() / 4],
               slope = (high - low) / (2 * normal_quantile(0.75)), middle = (low + high) / 2;
  const double reach = dots.samples.back().x;
  const Series line = straight("", Ink::faint, Mark::line, 1, {-reach, middle - slope * reach},
                               {reach, middle + slope * reach});
  figure.panels.push_back({"against normal quantiles",
                           {"quantile of a normal distribution"},
                           {"ln L - ln fit"},
                           {line, dots}});
}

std::string outlier_text(const study::Study& study, const Residuals& residuals) {
  if (residuals.far.empty())
    return "No run lies further than four robust standard deviations from the rest.";
  std::string made = fmt::format(
      "{} {} further than four robust standard deviations from the rest:", residuals.far.size(),
      residuals.far.size() == 1 ? "run lies" : "runs lie");
  for (size_t i = 0; i < std::min<size_t>(residuals.far.size(), 8); ++i) {
    const size_t at = residuals.far[i];
    made +=
        fmt::format("{} {} ({:+.1f}%)", i ? "," : "", run_name(study, study.main.points[at].run),
                    100 * (std::exp(residuals.values[at]) - 1));
  }
  return made + (residuals.far.size() > 8 ? " and others." : ".");
}

// A sum of normal distributions, one a draw, as wide as Silverman's rule says ("Density
// estimation", 1986, 3.31).
void add_density(Figure& figure, const std::string& title, const fit::Interval& interval,
                 std::vector<double> draws) {
  std::erase_if(draws, [](double value) { return !std::isfinite(value); });
  if (draws.size() < 20) return;
  std::sort(draws.begin(), draws.end());
  const double quartiles = draws[3 * draws.size() / 4] - draws[draws.size() / 4];
  const double spread = std::min(deviation(draws), quartiles > 0 ? quartiles / 1.34 : INFINITY),
               width = 0.9 * spread * std::pow(draws.size(), -0.2);
  if (!(width > 0)) return;
  const double low = draws[draws.size() / 500] - 3 * width,
               high = draws[draws.size() - 1 - draws.size() / 500] + 3 * width;
  Series shape{"bootstrap", Ink::parametric, Mark::line, 2},
      area{"", Ink::parametric, Mark::band, 1};
  for (int i = 0; i < kDensityPoints; ++i) {
    const double x = low + (high - low) * i / (kDensityPoints - 1);
    double sum = 0;
    for (const double draw : draws) sum += std::exp(-(x - draw) * (x - draw) / (2 * width * width));
    const double density = sum / (draws.size() * width * std::sqrt(2 * M_PI));
    shape.samples.push_back({x, density});
    if (x >= interval.low && x <= interval.high)
      area.samples.push_back({.x = x, .low = 0, .high = density});
  }
  const double top = std::ranges::max(shape.samples, {}, &Sample::y).y;
  const Series fit =
      straight("fit", Ink::text, Mark::dashes, 1.5, {interval.value, 0}, {interval.value, top});
  figure.panels.push_back({"", {title}, {"density"}, {area, shape, fit}});
}

}  // namespace

std::string fill_residual(const study::Study& study, Figure& figure) {
  const Residuals residuals{residuals_of(study.main), far_residuals(residuals_of(study.main))};
  if (residuals.values.empty()) {
    return "Without a parametric fit there are no residuals: " + study.main.parametric_problem;
  }
  add_residuals(figure, study, residuals, "against parameters", {"parameters N", true},
                &ScalingPoint::n);
  add_residuals(figure, study, residuals, "against tokens", {"training tokens D", true},
                &ScalingPoint::d);
  add_residuals(figure, study, residuals, "against compute",
                {compute_label(study.main.convention), true, true}, &ScalingPoint::c);
  add_quantiles(figure, residuals.values);
  double squares = 0;
  for (const double one : residuals.values) squares += one * one;
  figure.caption = fmt::format(
      "Distance of each run from the fitted law, as a logarithm: 0.01 is one per cent of the loss. "
      "Root mean square {}. {}",
      number_text(std::sqrt(squares / residuals.values.size())), outlier_text(study, residuals));
  return "";
}

std::string fill_bootstrap(const study::Study& study, Figure& figure) {
  if (study.main.parametric) {
    const fit::ParametricFit& fit = *study.main.parametric;
    const auto add = [&](const char* title, const fit::Interval& interval, auto of) {
      std::vector<double> values;
      for (const ChinchillaLaw& law : fit.draws) values.push_back(std::invoke(of, law));
      add_density(figure, title, interval, values);
    };
    add("a = β / (α + β)", fit.n_exponent, &ChinchillaLaw::n_exponent);
    add("E, the floor of the loss", fit.e, &ChinchillaLaw::e);
    add("α, the exponent of size", fit.alpha, &ChinchillaLaw::alpha);
    add("β, the exponent of data", fit.beta, &ChinchillaLaw::beta);
    figure.caption = fmt::format(
        "{} resamples of whole runs, the law fitted to each{}; the filled part holds 95%. a = {}, "
        "E = {}, α = {}, β = {}.",
        fit.draws.size(),
        fit.failed_draws > 0 ? fmt::format(" ({} more did not converge)", fit.failed_draws) : "",
        interval_text(fit.n_exponent), interval_text(fit.e), interval_text(fit.alpha),
        interval_text(fit.beta));
  }
  if (figure.panels.empty())
    return "There are no resamples of the parametric fit, so their spread is not shown.";
  return "";
}

}  // namespace skein::scaling::report
