// Figures of the laws that were fitted.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "skein/core/error.h"
#include "skein/scaling/report/text.h"

#include "figures.h"
#include "scaling/fit/budgets.h"
#include "scaling/study/numbers.h"

namespace skein::scaling::report {
namespace {

constexpr int kGrid = 41;
constexpr int64_t kHeldOutResamples = 400;
constexpr double kNearLargest = 2;  // as make_study chooses the runs of L(N) and L(D)

using OfOptimum = double (*)(const Optimum&);

// A law over C and the band of its draws.
struct Curve {
  Series band, line;
};
template <class Fit, class Of>
Curve curve_of(const Fit& fit, const Series& line, const ComputeRange& range, Of of) {
  Curve made{{"", line.ink, Mark::band, 1}, line};
  for (const double c : log_grid(range.low, range.target, kGrid)) {
    std::vector<double> values;
    for (const auto& law : fit.draws) values.push_back(of(law, c));
    if (!values.empty()) made.band.samples.push_back(band_sample(c, std::move(values)));
    made.line.samples.push_back({c, of(fit.law, c)});
  }
  return made;
}

// All bands lie below all lines.
void add_curve(Panel& panel, const Curve& curve) {
  panel.series.insert(panel.series.begin(), curve.band);
  panel.series.push_back(curve.line);
}

void add_power(Panel& panel, const fit::PowerFit& fit, const std::string& title, Ink ink,
               const ComputeRange& range) {
  add_curve(panel, curve_of(fit, {title, ink, Mark::dashes, 2}, range,
                            [](const PowerLaw& law, double c) { return law.at(c); }));
}

void add_optimum(Panel& panel, const study::Study& study, OfOptimum of, const ComputeRange& range) {
  if (!names_optimum(study.main)) return;
  add_curve(panel, curve_of(*study.main.parametric,
                            {"approach 3: parametric", Ink::parametric, Mark::line, 2.5}, range,
                            [&](const ChinchillaLaw& law, double c) {
                              return of(fit::efficient(law, c, study.main.flops_per_token));
                            }));
}

void add_vertices(Panel& panel, const fit::IsoflopFit& fit, OfOptimum of) {
  Series vertices{"minima of the parabolas", Ink::isoflop, Mark::diamonds,
                  fit.budgets.size() > 12 ? 1.1 : 1.8};
  for (const fit::IsoflopBudget& budget : fit.budgets)
    if (budget.problem.empty())
      vertices.samples.push_back({budget.flops, of({budget.n, budget.d, budget.loss})});
  panel.series.push_back(vertices);
}

// Where the data end: a line over all that is drawn.
void add_data_end(Panel& panel, const ComputeRange& range) {
  if (range.target <= range.high * 1.01) return;
  double low = INFINITY, high = 0;
  for (const Series& series : panel.series)
    for (const Sample& one : series.samples)
      for (const double y : {one.y, one.low, one.high})
        if (y > 0) low = std::min(low, y), high = std::max(high, y);
  if (low < high)
    panel.series.push_back(straight("end of the data", Ink::faint, Mark::dashes, 1,
                                    {range.high, low}, {range.high, high}));
}

// N at which the law's loss is `loss` with d tokens; kUnknown: at none.
double size_for_loss(const ChinchillaLaw& law, double loss, double d) {
  const double left = loss - law.e - law.b / std::pow(d, law.beta);
  return left > 0 ? std::pow(law.a / left, 1 / law.alpha) : kUnknown;
}

struct Box {
  double n_low, n_high, d_low, d_high;
};

Box box_of(const std::vector<ScalingPoint>& points) {
  const auto [small, large] = std::ranges::minmax(points, {}, &ScalingPoint::n);
  const auto [brief, lengthy] = std::ranges::minmax(points, {}, &ScalingPoint::d);
  return {small.n, large.n, brief.d, lengthy.d};
}

// Levels with equal ratios of what can be reduced, from the highest loss down to that of the box's
// far corner.
void add_contours(Panel& panel, const ChinchillaLaw& law, const Box& box) {
  constexpr int kLevels = 9;
  const double least = law.loss(box.n_high, box.d_high) - law.e,
               most = law.loss(box.n_low, box.d_low) - law.e;
  for (int i = 0; i < kLevels; ++i) {
    const double loss = law.e + least * std::pow(most / least, (i + 1.0) / (kLevels + 1));
    Series line{"", size_ink(kLevels - 1 - i, kLevels), Mark::line, 1.5};
    for (const double d : log_grid(box.d_low, box.d_high, 120))
      if (const double n = size_for_loss(law, loss, d); n >= box.n_low && n <= box.n_high)
        line.samples.push_back({n, d});
    if (line.samples.empty()) continue;
    line.samples.front().name = "L = " + number_text(loss);
    line.samples.front().named = true;
    panel.series.push_back(line);
  }
}

void add_budget_lines(Panel& panel, const Box& box, const PowerLaw& per_token) {
  Series lines{"equal compute", Ink::faint, Mark::dashes, 1};
  const double low = std::log10(per_token.at(box.n_low) * box.d_low),
               high = std::log10(per_token.at(box.n_high) * box.d_high);
  const double step = std::max(1.0, std::ceil((high - low) / 8));
  for (double power = std::ceil(low); power <= high; power += step) {
    for (const double n : log_grid(box.n_low, box.n_high, 40))
      if (const double d = std::pow(10, power) / per_token.at(n); d >= box.d_low && d <= box.d_high)
        lines.samples.push_back({n, d});
    lines.samples.push_back({});
  }
  panel.series.push_back(lines);
}

void add_efficient_path(Panel& panel, const study::Study& study, const Box& box) {
  if (!names_optimum(study.main)) return;
  const PowerLaw& per_token = study.main.flops_per_token;
  Series path{"efficient path", Ink::alert, Mark::line, 3};
  for (const double c :
       log_grid(per_token.at(box.n_low) * box.d_low, per_token.at(box.n_high) * box.d_high, 80)) {
    const Optimum best = fit::efficient(study.main.parametric->law, c, per_token);
    if (best.n >= box.n_low && best.n <= box.n_high && best.d >= box.d_low && best.d <= box.d_high)
      path.samples.push_back({best.n, best.d});
  }
  panel.series.push_back(path);
}

// The fit of the runs below `budget`, where it names a best size.
std::optional<fit::ParametricFit> fit_below(double budget, const study::Study& study) {
  if (!std::isfinite(budget)) return std::nullopt;
  std::vector<ScalingPoint> kept = study.main.points;
  std::erase_if(kept, [&](const ScalingPoint& point) { return !(point.c < budget); });
  fit::ParametricOptions options = study.options.parametric;
  options.show_progress = false;
  options.resamples = std::min(options.resamples, kHeldOutResamples);
  std::optional<fit::ParametricFit> made;
  refusal_of([&] { made = fit_chinchilla(kept, options); });
  return made && has_optimum(*made) ? made : std::nullopt;
}

void add_forecast(Panel& panel, const fit::ParametricFit& fit, const PowerLaw& per_token,
                  const ComputeRange& range, const std::string& title) {
  Curve curve = curve_of(
      fit, {title, Ink::parametric, Mark::line, 2.5}, range,
      [&](const ChinchillaLaw& law, double c) { return fit::efficient(law, c, per_token).loss; });
  curve.band.title = title + ", 95%";
  panel.series.insert(panel.series.end(), {curve.band, curve.line});
}

// What L(N), L(D) or L(C) was fitted to.
std::vector<fit::XY> fitted_runs(const study::Study& study, const study::NamedSingleLaw& law) {
  const std::vector<ScalingPoint>& points = study.main.points;
  if (!law.held) return fit::lowest_of_budgets(points, study.options.isoflop.tolerance);
  const double largest = std::ranges::max(points, {}, law.held).*law.held;
  std::vector<fit::XY> made;
  for (const ScalingPoint& point : points)
    if (point.*law.held * kNearLargest >= largest) made.push_back({point.*law.over, point.loss});
  return made;
}

struct SingleLawWords {
  const char *title, *label, *runs;
};

void add_single_law(Figure& figure, const study::Study& study, const study::NamedSingleLaw& law,
                    const SingleLawWords& words) {
  if (!(study.*law.fits).offset) return;
  const fit::OffsetPowerFit& fit = *(study.*law.fits).offset;
  Series left{words.runs, Ink::isoflop, Mark::dots, 2}, line{"k x^-p", Ink::text, Mark::line, 2};
  for (const fit::XY& one : fitted_runs(study, law))
    if (one.y > fit.law.e) left.samples.push_back({one.x, one.y - fit.law.e});
  std::ranges::sort(left.samples, {}, &Sample::x);
  if (left.samples.size() > 1)
    for (const double x : log_grid(left.samples.front().x, left.samples.back().x, 40))
      line.samples.push_back({x, fit.law.k * std::pow(x, -fit.law.p)});
  figure.panels.push_back(
      {words.title, {words.label, true}, {"loss - E, nats a token", true}, {left, line}});
  figure.caption +=
      fmt::format("L({}): E = {}, p = {}{}. ", law.x, interval_text(fit.e), interval_text(fit.p),
                  fit.convergence.converged ? "" : ", not converged");
}

}  // namespace

std::string fill_allocation(const study::Study& study, Figure& figure) {
  const study::ConventionStudy& main = study.main;
  if (!names_optimum(main) && !main.isoflop.valid() && !knows_exponent(main.envelope)) {
    return "No approach names a best size for a budget, so there is no law of N* and D*.";
  }
  const ComputeRange range = compute_range(study);
  const std::string label = compute_label(main.convention);
  struct Part {
    const char *title, *y;
    OfOptimum of;
    fit::PowerFit envelope, isoflop;
  };
  const Part parts[] = {
      {"parameters", "N*", [](const Optimum& one) { return one.n; }, main.envelope.n_of_c,
       main.isoflop.n_of_c},
      {"training tokens", "D*", [](const Optimum& one) { return one.d; }, main.envelope.d_of_c,
       main.isoflop.d_of_c},
      {"tokens per parameter", "D* / N*", [](const Optimum& one) { return one.ratio(); },
       quotient(main.envelope.d_of_c, main.envelope.n_of_c),
       quotient(main.isoflop.d_of_c, main.isoflop.n_of_c)}};
  for (const Part& part : parts) {
    Panel panel{part.title, {label, true, true}, {part.y, true}};
    add_optimum(panel, study, part.of, range);
    if (main.isoflop.valid())
      add_power(panel, part.isoflop, "approach 2: parabolas", Ink::isoflop, range);
    if (knows_exponent(main.envelope))
      add_power(panel, part.envelope,
                main.envelope.from_curves ? "approach 1: frontier"
                                          : "approach 1: frontier of last losses",
                Ink::envelope, range);
    if (main.isoflop.valid()) add_vertices(panel, main.isoflop, part.of);
    add_data_end(panel, range);
    figure.panels.push_back(panel);
  }
  const char* one = main.envelope.from_curves
                        ? "approach 1"
                        : "approach 1 (last losses, among the sizes tried alone)";
  figure.caption = fmt::format(
      "N* grows as C to the power {}. Bands hold 95% of the bootstrap over runs; beyond the end of "
      "the data they say only how well the law is known if it holds there.",
      fmt::join(exponents_of(main, {one, "approach 2", "approach 3"}), ", "));
  return "";
}

std::string fill_contour(const study::Study& study, Figure& figure) {
  if (!study.main.parametric) {
    return "There is no parametric fit to draw as a surface: " + study.main.parametric_problem;
  }
  const fit::ParametricFit& fit = *study.main.parametric;
  const Box box = box_of(study.main.points);
  Panel panel{"", {"parameters N", true}, {"training tokens D", true}};
  add_budget_lines(panel, box, study.main.flops_per_token);
  add_contours(panel, fit.law, box);
  Series runs{"runs", Ink::text, Mark::rings, 1.3};
  for (const ScalingPoint& point : study.main.points)
    runs.samples.push_back({point.n, point.d, run_name(study, point.run)});
  panel.series.push_back(runs);
  add_efficient_path(panel, study, box);
  figure.panels.push_back(panel);
  figure.caption = fmt::format(
      "L(N, D) = E + A/N^α + B/D^β with E = {}, α = {}, β = {}. Lines of equal loss from dark "
      "(high) to bright (low); dashed lines of equal compute, a factor of ten apart or more; the "
      "efficient path crosses each where the loss is lowest.",
      interval_text(fit.e), interval_text(fit.alpha), interval_text(fit.beta));
  return "";
}

std::string fill_extrapolation(const study::Study& study, Figure& figure) {
  if (!study.main.parametric) {
    return "Without a parametric fit no loss is forecast: " + study.main.parametric_problem;
  }
  if (!names_optimum(study.main)) {
    return "The parametric fit names no best size for a budget (see the caveats), so no loss is "
           "forecast.";
  }
  const ComputeRange range = compute_range(study);
  double budget = kUnknown;
  for (const study::HeldOutFit& one : study.comparison)
    if (std::isfinite(one.budget)) budget = one.budget;
  const std::optional<fit::ParametricFit> below = fit_below(budget, study);
  Panel panel{"", {compute_label(study.main.convention), true, true}, {"loss, nats a token", true}};
  add_forecast(panel, below ? *below : *study.main.parametric, study.main.flops_per_token, range,
               below ? "forecast without the held-out runs" : "forecast");
  Series fitted{"runs", Ink::faint, Mark::dots, 1.4},
      held{"held-out runs", Ink::alert, Mark::rings, 2.2};
  for (const ScalingPoint& point : study.main.points)
    (below && point.c >= budget ? held : fitted)
        .samples.push_back({point.c, point.loss, run_name(study, point.run)});
  panel.series.insert(panel.series.begin(), fitted);
  panel.series.push_back(held);
  if (const double loss = study.target ? study.target->parametric.loss.value : kUnknown;
      std::isfinite(loss))
    panel.series.push_back(
        {"target, by all runs", Ink::text, Mark::diamonds, 2.2, {{study.target->flops, loss}}});
  figure.panels.push_back(panel);
  figure.caption =
      below ? fmt::format(
                  "The law fitted to the {} below {} FLOPs, and {} that it has not seen. Runs lie "
                  "on or above the line: it is the least loss for a budget. ",
                  runs_text(fitted.samples.size()), power_text(budget),
                  runs_text(held.samples.size()))
            : std::string("The law fitted to all runs: none could be held out. ");
  if (study.target)
    figure.caption += fmt::format(
        "At the target of {} FLOPs, {} times the largest budget, all runs together say {}.",
        power_text(study.target->flops), number_text(study.target->beyond),
        interval_text(study.target->parametric.loss, number_text, 4));
  return "";
}

std::string fill_single_law(const study::Study& study, Figure& figure) {
  const SingleLawWords words[] = {{"over parameters", "parameters N", "runs with much data"},
                                  {"over tokens", "training tokens D", "large models"},
                                  {"over compute", "compute C, FLOPs", "lowest of each budget"}};
  for (size_t i = 0; i < std::size(words); ++i)
    add_single_law(figure, study, study::kSingleLaws[i], words[i]);
  if (figure.panels.empty())
    return "There are too few sizes with much data, data with large models, and budgets to fit "
           "L(N), L(D) or L(C) alone.";
  figure.caption =
      "What is left of the loss above a floor E, which should be straight: over N for runs within "
      "a factor of two of the largest D, over D for models within a factor of two of the largest "
      "N, over C for the lowest loss of each budget, however these runs divide it. " +
      figure.caption + "E and p trade off strongly unless x spans more than two decades.";
  return "";
}

}  // namespace skein::scaling::report
