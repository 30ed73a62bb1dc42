#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "parts.h"
#include "scaling/fit/parabola.h"

namespace skein::scaling::study {
namespace {

constexpr double kSameTokens = 1.02, kLeastRange = 2, kTogether = 0.9;
constexpr double kMostExponent = 20, kNoExponent = 1e-9;
constexpr size_t kFewestValues = 3, kFewestForBoth = 4;

// Runs of one model on as many tokens.
struct Cell {
  double n = 0, d = 0;
  const ScalingRun* first = nullptr;
  // Of each value, then of what else differed, whatever the seeds; equal runs once.
  std::map<double, std::map<double, std::set<double>>> losses;
};

struct Best {
  double ln_n, ln_d, ln_value;
};

// Tokens that were seen again are not worth what new ones are.
auto model_of(const ScalingRun& run, double n) {
  const double unique = run.unique_tokens > 0 ? run.unique_tokens : run.tokens;
  return std::tuple(n, run.d_model, run.n_layers, run.vocab_size, unique < run.tokens ? unique : 0);
}

std::vector<Cell> cells_of(const ScalingTable& table, ParameterCount count,
                           double ScalingRun::*field, double ScalingRun::*other) {
  std::vector<std::pair<double, const ScalingRun*>> runs;
  for (const ScalingRun& run : table.runs) {
    const double n = parameters_of(run, count);
    const bool counts = run.status == "done" || run.status == "outclassed";
    if (counts && n > 0 && run.tokens > 0 && run.*field > 0 && run.loss > 0)
      runs.emplace_back(n, &run);
  }
  std::sort(runs.begin(), runs.end(), [](const auto& one, const auto& next) {
    return std::pair(model_of(*one.second, one.first), one.second->tokens) <
           std::pair(model_of(*next.second, next.first), next.second->tokens);
  });
  std::vector<Cell> cells;
  for (const auto& [n, run] : runs) {
    const bool fits = !cells.empty() &&
                      model_of(*cells.back().first, cells.back().n) == model_of(*run, n) &&
                      run->tokens <= kSameTokens * cells.back().d;
    if (!fits) cells.push_back({n, run->tokens, run, {}});
    cells.back().losses[run->*field][run->*other > 0 ? run->*other : 0].insert(run->loss);
  }
  return cells;
}

double mean(const std::set<double>& losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / losses.size();
}

// Its logarithm; none where the best lies at an end of what was tried.
std::optional<double> best_of(const Cell& cell) {
  std::vector<fit::Dot> dots;
  for (const auto& [value, others] : cell.losses) {
    double least = HUGE_VAL;
    for (const auto& [other, losses] : others) least = std::min(least, mean(losses));
    dots.push_back({std::log(value), least});
  }
  if (dots.size() < kFewestValues) return std::nullopt;
  const auto at = std::ranges::min_element(dots, {}, &fit::Dot::y);
  if (at == dots.begin() || at == dots.end() - 1) return std::nullopt;
  const fit::Parabola through = fit_parabola(std::array{*(at - 1), *at, *(at + 1)});
  return through.problem.empty() ? std::optional(through.x) : std::nullopt;
}

bool varies(const std::vector<Best>& all, double Best::*field) {
  std::set<double> values;
  for (const Best& one : all) values.insert(one.*field);
  return values.size() >= kFewestValues &&
         *values.rbegin() - *values.begin() >= std::log(kLeastRange) - 1e-9;
}

double average(const std::vector<Best>& all, double Best::*field) {
  double sum = 0;
  for (const Best& one : all) sum += one.*field;
  return sum / all.size();
}

double covariance(const std::vector<Best>& all, double Best::*one, double Best::*other) {
  const double first = average(all, one), second = average(all, other);
  double sum = 0;
  for (const Best& best : all) sum += (best.*one - first) * (best.*other - second);
  return sum;
}

void fit_exponents(const std::vector<Best>& all, SizeMeasure along, BestSetting& made) {
  bool by_n = varies(all, &Best::ln_n), by_d = varies(all, &Best::ln_d);
  const double nn = covariance(all, &Best::ln_n, &Best::ln_n),
               dd = covariance(all, &Best::ln_d, &Best::ln_d);
  const double nd = covariance(all, &Best::ln_n, &Best::ln_d);
  const double ny = covariance(all, &Best::ln_n, &Best::ln_value),
               dy = covariance(all, &Best::ln_d, &Best::ln_value);
  if (by_n && by_d && (all.size() < kFewestForBoth || nd * nd > kTogether * nn * dd))
    (along == SizeMeasure::parameters ? by_d : by_n) = false;
  if (by_n && by_d) {
    const double determinant = nn * dd - nd * nd;
    made.n_exponent = (ny * dd - dy * nd) / determinant;
    made.d_exponent = (dy * nn - ny * nd) / determinant;
  } else if (by_n) {
    made.n_exponent = ny / nn;
  } else if (by_d) {
    made.d_exponent = dy / dd;
  }
  for (double* exponent : {&made.n_exponent, &made.d_exponent})
    if (std::abs(*exponent) < kNoExponent) *exponent = 0;
}

}  // namespace

double BestSetting::at(double n, double d) const {
  return coefficient * std::pow(n, n_exponent) * std::pow(d, d_exponent);
}

BestSetting best_setting(const ScalingTable& table, ParameterCount count, double ScalingRun::*field,
                         double ScalingRun::*other, SizeMeasure along, const std::string& what) {
  std::vector<Best> found;
  for (const Cell& cell : cells_of(table, count, field, other))
    if (const auto best = best_of(cell))
      found.push_back({std::log(cell.n), std::log(cell.d), *best});
  BestSetting made;
  made.cells = std::ssize(found);
  if (found.empty()) {
    made.problem = fmt::format(
        "no model was trained on as many tokens at three or more {}, the best of them between two "
        "others",
        what);
    return made;
  }
  fit_exponents(found, along, made);
  made.coefficient =
      std::exp(average(found, &Best::ln_value) - made.n_exponent * average(found, &Best::ln_n) -
               made.d_exponent * average(found, &Best::ln_d));
  const bool sound =
      std::abs(made.n_exponent) < kMostExponent && std::abs(made.d_exponent) < kMostExponent;
  if (!sound || !(made.coefficient > 0) || !std::isfinite(made.coefficient))
    made.problem =
        fmt::format("no power of N and D goes through the best {} of {} cells", what, made.cells);
  return made;
}

}  // namespace skein::scaling::study
