// Figures of the runs themselves.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <tuple>

#include "skein/scaling/report/text.h"

#include "figures.h"

namespace skein::scaling::report {
namespace {

constexpr size_t kMostCurvePoints = 160, kMostPointsOfCurves = 20000;
constexpr size_t kFewBudgets = 12;
constexpr double kCurveMargin = 1.15;  // how far a parabola goes beyond its sizes

bool has_curve(const ScalingRun& run) { return !run.curve.empty(); }

void add_curve(std::vector<Sample>& samples, const ScalingRun& run, const Convention& convention,
               size_t most) {
  const double per_token = flops_of(run, convention) / run.tokens;
  if (!(per_token > 0)) return;
  const size_t step = run.curve.size() / most + 1;
  for (size_t i = 0; i < run.curve.size(); i += step)
    if (run.curve[i].tokens > 0 && run.curve[i].loss > 0)
      samples.push_back({per_token * run.curve[i].tokens, run.curve[i].loss, run.name});
  samples.push_back({});
}

void add_runs(Panel& panel, const study::Study& study) {
  const SizeClasses classes = size_classes(study.main.points);
  std::vector<Series> curves, ends;
  for (const std::string& title : classes.titles) {
    const Ink ink = size_ink(ends.size(), classes.titles.size());
    curves.push_back({"", ink, Mark::line, 1});
    ends.push_back({title, ink, Mark::dots, 2});
  }
  const size_t runs = std::ranges::count_if(study.table.runs, has_curve),
               most = std::clamp<size_t>(kMostPointsOfCurves / std::max<size_t>(1, runs), 8,
                                         kMostCurvePoints);
  Series lost{"kept out", Ink::alert, Mark::dashes, 1};
  for (const ScalingRun& run : study.table.runs) {
    const bool done = run.status == "done";
    const double n = parameters_of(run, study.main.convention.parameters);
    if (has_curve(run) && n > 0)
      add_curve(done ? curves[classes.of(n)].samples : lost.samples, run, study.main.convention,
                most);
  }
  for (const ScalingPoint& point : study.main.points)
    ends[classes.of(point.n)].samples.push_back({point.c, point.loss, run_name(study, point.run)});
  for (auto* list : {&curves, &ends})
    panel.series.insert(panel.series.end(), list->begin(), list->end());
  panel.series.push_back(lost);
}

void add_frontiers(Panel& panel, const study::Study& study) {
  const ComputeRange range = compute_range(study);
  const PowerLaw& per_token = study.main.flops_per_token;
  Series power{"frontier's power law", Ink::envelope, Mark::dashes, 2},
      frontier{"frontier", Ink::envelope, Mark::diamonds, 1.2};
  Series best{"approach 3: least loss for C", Ink::parametric, Mark::line, 2.5};
  const std::vector<fit::EnvelopePoint>& lowest = study.main.envelope.envelope;
  for (size_t i = 0; i < lowest.size(); i += lowest.size() / kMostCurvePoints + 1) {
    const fit::EnvelopePoint& point = lowest[i];
    frontier.samples.push_back({point.c, point.loss, run_name(study, point.run)});
  }
  if (frontier.samples.size() > 60) frontier.mark = Mark::line, frontier.weight = 3;
  for (const double c : log_grid(range.low, range.high, 60)) {
    if (study.main.envelope.valid())
      power.samples.push_back({c, study.main.envelope.loss_of_c.law.at(c)});
    if (names_optimum(study.main))
      best.samples.push_back({c, fit::efficient(study.main.parametric->law, c, per_token).loss});
  }
  panel.series.insert(panel.series.end(), {frontier, power, best});
}

std::string vertex_text(const fit::IsoflopBudget& budget) {
  return fmt::format("{} FLOPs: N {}, loss {}", power_text(budget.flops), count_text(budget.n),
                     number_text(budget.loss, 4));
}

// How budgets are told apart: each by itself where they are few, else by the power of ten below.
struct BudgetLook {
  std::string title;
  Ink ink = Ink::text;
  double size = 1;  // of its marks
};

BudgetLook look_of(const std::vector<fit::IsoflopBudget>& budgets, size_t index) {
  const fit::IsoflopBudget& budget = budgets[index];
  const bool counts = budget.problem.empty();
  if (budgets.size() <= kFewBudgets)
    return {power_text(budget.flops, 2) + (counts ? "" : ": " + budget.problem),
            size_ink(index, budgets.size()), 1};
  const auto decade = [](const fit::IsoflopBudget& one) {
    return std::floor(std::log10(one.flops));
  };
  const int64_t first = decade(budgets.front()), at = decade(budget);
  const Ink ink = size_ink(at - first, decade(budgets.back()) - first + 1);
  const std::string from = power_text(std::pow(10, at), 1);
  return {counts ? fmt::format("{} to {}", from, power_text(std::pow(10, at + 1), 1))
                 : "not used, from " + from,
          ink, 0.6};
}

void add_budget(Panel& panel, const study::Study& study, const fit::IsoflopBudget& budget,
                const BudgetLook& look) {
  const bool counts = budget.problem.empty();
  Series runs{look.title, look.ink, counts ? Mark::dots : Mark::rings, 2 * look.size};
  Series bowl{"", look.ink, Mark::line, 1.5 * look.size},
      vertex{"", look.ink, Mark::diamonds, 2.2 * look.size};
  for (const int64_t index : budget.points) {
    const ScalingPoint& point = study.main.points[index];
    runs.samples.push_back({point.n, point.loss, run_name(study, point.run)});
  }
  const auto [least, most] = std::ranges::minmax(runs.samples, {}, &Sample::x);
  const double low = least.x, high = most.x;
  if (counts && high > low) {
    for (const double n : log_grid(low / kCurveMargin, high * kCurveMargin, 50))
      bowl.samples.push_back(
          {n, budget.loss + budget.curvature * std::pow(std::log(n / budget.n), 2) / 2});
    vertex.samples.push_back({budget.n, budget.loss});
  }
  panel.series.insert(panel.series.end(), {bowl, runs, vertex});
}

std::string isoflop_caption(const fit::IsoflopFit& fit) {
  const auto counts = std::ranges::count(fit.budgets, std::string(), &fit::IsoflopBudget::problem);
  std::string made = fmt::format(
      "Loss of runs with equal compute over their size; a diamond is where a parabola in ln N is "
      "lowest. {} of {} budgets have their minimum inside of the sizes tried",
      counts, fit.budgets.size());
  for (const fit::IsoflopBudget& budget : fit.budgets)
    if (budget.problem.empty() &&
        (&budget == &fit.budgets.front() || &budget == &fit.budgets.back()))
      made += "; " + vertex_text(budget);
  if (counts < std::ssize(fit.budgets))
    made += ". Rings belong to budgets that are not used, for the reason in the table of budgets";
  return made + (fit.valid() ? fmt::format(". Through the vertices N* grows as C to the power {}.",
                                           interval_text(fit.n_of_c.exponent))
                             : ". No law is put through them: " + fit.problem + ".");
}

using Cell = std::tuple<double, int64_t, int64_t, double>;  // parameters, width, layers, tokens

// Of each cell by learning rate: the lowest loss and its run.
using RateCells = std::map<Cell, std::map<double, std::pair<double, std::string>>>;

RateCells rate_cells(const study::Study& study) {
  RateCells made;
  for (const ScalingRun& run : study.table.runs) {
    const double n = parameters_of(run, study.main.convention.parameters);
    if (!(run.lr > 0) || !(run.loss > 0) || !(n > 0) ||
        (run.status != "done" && run.status != "outclassed"))
      continue;
    auto& cell = made[{n, run.d_model, run.n_layers, run.tokens}];
    const auto [at, is_new] = cell.try_emplace(run.lr, run.loss, run.name);
    if (!is_new && run.loss < at->second.first) at->second = {run.loss, run.name};
  }
  std::erase_if(made, [](const auto& cell) { return cell.second.size() < 3; });
  return made;
}

}  // namespace

std::string fill_loss(const study::Study& study, Figure& figure) {
  Panel panel{"", {compute_label(study.main.convention), true, true}, {"loss, nats a token", true}};
  add_runs(panel, study);
  add_frontiers(panel, study);
  figure.panels.push_back(panel);
  const ComputeRange range = compute_range(study);
  const bool curves = std::ranges::any_of(study.table.runs, has_curve);
  figure.caption = fmt::format(
      "{} runs from {} to {} FLOPs, {}, coloured by size. ", study.main.points.size(),
      power_text(range.low), power_text(range.high),
      curves ? "with their learning curves" : "each at its end (the table has no learning curves)");
  if (study.main.envelope.valid())
    figure.caption += fmt::format("The lowest loss for a budget falls as C to the power {}. ",
                                  interval_text(study.main.envelope.loss_of_c.exponent));
  if (study.main.parametric)
    figure.caption += fmt::format("Approach 3 sees it level off at E = {}.",
                                  interval_text(study.main.parametric->e));
  return "";
}

std::string fill_isoflop(const study::Study& study, Figure& figure) {
  const std::vector<fit::IsoflopBudget>& budgets = study.main.isoflop.budgets;
  Panel panel{"", {"parameters N", true}, {"loss, nats a token", true}};
  for (size_t i = 0; i < budgets.size(); ++i)
    if (budgets[i].points.size() > 1) add_budget(panel, study, budgets[i], look_of(budgets, i));
  if (panel.series.empty()) {
    return "No two runs of different size spent the same compute, so there are no parabolas to "
           "draw.";
  }
  figure.panels.push_back(panel);
  figure.caption = isoflop_caption(study.main.isoflop);
  return "";
}

std::string fill_rate(const study::Study& study, Figure& figure) {
  const RateCells cells = rate_cells(study);
  if (cells.empty()) {
    return "No size was trained with three learning rates or more on the same number of tokens, so "
           "there are no bowls of learning rates.";
  }
  Panel panel{"", {"learning rate", true}, {"loss, nats a token", true}};
  int64_t index = 0, edges = 0;
  Series best{"best of a cell", Ink::text, Mark::diamonds, 2},
      edge{"best at the edge of those tried", Ink::alert, Mark::diamonds, 2};
  for (const auto& [cell, rates] : cells) {
    const auto lowest =
        std::ranges::min_element(rates, {}, [](const auto& rate) { return rate.second.first; });
    const bool inside = lowest != rates.begin() && lowest != std::prev(rates.end());
    (inside ? best : edge)
        .samples.push_back({lowest->first, lowest->second.first, lowest->second.second});
    edges += !inside;
    const Ink ink = size_ink(index++, cells.size());
    Series line{cells.size() <= 12 ? fmt::format("N = {}, D = {}", count_text(std::get<0>(cell)),
                                                 count_text(std::get<3>(cell)))
                                   : "",
                ink, Mark::line, 1.5};
    for (const auto& [rate, lost] : rates) line.samples.push_back({rate, lost.first, lost.second});
    Series dots{"", ink, Mark::dots, 1.6, line.samples};
    panel.series.insert(panel.series.end(), {line, dots});
  }
  panel.series.insert(panel.series.end(), {best, edge});
  figure.panels.push_back(panel);
  figure.caption = fmt::format(
      "{} cells of one size and one number of tokens, each with several learning rates. In {} of "
      "them the best lies at the edge of those that were tried, so that a better one may lie "
      "beyond.",
      cells.size(), edges);
  return "";
}

}  // namespace skein::scaling::report
