#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "skein/core/error.h"
#include "skein/scaling/laws/results.h"

#include "text_table.h"

namespace skein::scaling {
namespace {

const std::map<ParameterCount, const char*>& parameter_counts() {
  static const std::map<ParameterCount, const char*> names{
      {ParameterCount::given, "parameters as given"},
      {ParameterCount::blocks, "blocks"},
      {ParameterCount::blocks_head, "blocks + head"},
      {ParameterCount::all, "all parameters"}};
  return names;
}

const std::map<FlopCount, const char*>& flop_counts() {
  static const std::map<FlopCount, const char*> names{
      {FlopCount::given, "FLOPs as given"},
      {FlopCount::six_n, "6 N D FLOPs"},
      {FlopCount::six_n_head, "6 (blocks + head) D FLOPs"},
      {FlopCount::exact, "exact FLOPs"}};
  return names;
}

bool known(const std::vector<const ScalingRun*>& runs, const Convention& convention) {
  return std::all_of(runs.begin(), runs.end(), [&](const ScalingRun* run) {
    return !std::isnan(parameters_of(*run, convention.parameters)) &&
           !std::isnan(flops_of(*run, convention));
  });
}

bool near(double one, double other) { return std::abs(one - other) <= 1e-9 * std::abs(other); }

bool same_numbers(const std::vector<const ScalingRun*>& runs, const Convention& one,
                  const Convention& other) {
  return std::all_of(runs.begin(), runs.end(), [&](const ScalingRun* run) {
    return near(parameters_of(*run, one.parameters), parameters_of(*run, other.parameters)) &&
           near(flops_of(*run, one), flops_of(*run, other));
  });
}

bool counts(const std::vector<const ScalingRun*>& runs, ParameterCount count) {
  return std::none_of(runs.begin(), runs.end(), [&](const ScalingRun* run) {
    return std::isnan(parameters_of(*run, count));
  });
}

auto order_of(const ScalingPoint& point) {
  return std::tuple(point.c, point.n, point.d, point.loss,
                    point.repeated() ? point.unique_tokens : point.d);
}

std::string lines_without(const std::vector<const ScalingRun*>& runs,
                          const Convention& convention) {
  std::vector<int64_t> lines;
  for (const ScalingRun* run : runs)
    if (!known({run}, convention)) lines.push_back(run->line);
  return first_of(lines, 10);
}

}  // namespace

std::vector<const ScalingRun*> done_runs(const ScalingTable& table) {
  std::vector<const ScalingRun*> runs;
  for (const ScalingRun& run : table.runs)
    if (run.status == "done") runs.push_back(&run);
  return runs;
}

std::string name(const Convention& convention) {
  return fmt::format("{}, {}", parameter_counts().at(convention.parameters),
                     flop_counts().at(convention.flops));
}

double parameters_of(const ScalingRun& run, ParameterCount count) {
  switch (count) {
    case ParameterCount::given: return run.n_params;
    case ParameterCount::blocks: return run.n_blocks;
    case ParameterCount::blocks_head: return run.n_blocks + run.n_head;
    case ParameterCount::all: return run.n_all;
  }
  return kUnknown;
}

double flops_of(const ScalingRun& run, const Convention& convention) {
  switch (convention.flops) {
    case FlopCount::given: return run.flops;
    case FlopCount::six_n: return 6 * parameters_of(run, convention.parameters) * run.tokens;
    case FlopCount::six_n_head: return 6 * (run.n_blocks + run.n_head) * run.tokens;
    case FlopCount::exact: return run.flops_exact;
  }
  return kUnknown;
}

std::vector<Convention> conventions_of(const ScalingTable& table) {
  const auto runs = done_runs(table);
  std::vector<Convention> found;
  for (const auto& parameters : parameter_counts()) {
    for (const auto& flops : flop_counts()) {
      const Convention convention{parameters.first, flops.first};
      const auto same = [&](const Convention& other) {
        return same_numbers(runs, convention, other);
      };
      if (known(runs, convention) && std::none_of(found.begin(), found.end(), same))
        found.push_back(convention);
    }
  }
  return found;
}

Convention settled(const Convention& convention, const ScalingTable& table) {
  const auto runs = done_runs(table);
  Convention settled = convention;
  if (settled.parameters == ParameterCount::given && !counts(runs, ParameterCount::given)) {
    for (ParameterCount count :
         {ParameterCount::blocks, ParameterCount::blocks_head, ParameterCount::all})
      if (counts(runs, count)) settled.parameters = count;
  }
  if (settled.flops == FlopCount::given && !known(runs, settled)) {
    settled.flops = FlopCount::exact;
    if (!known(runs, settled)) settled.flops = FlopCount::six_n;
  }
  return settled;
}

std::vector<ScalingPoint> points_of(const ScalingTable& table, const Convention& convention) {
  const auto runs = done_runs(table);
  require(
      known(runs, convention),
      "{}: the runs of lines {} have no number of {}; count otherwise (fit.parameters, fit.flops)",
      table.path, lines_without(runs, convention), name(convention));
  std::vector<ScalingPoint> points;
  for (const ScalingRun* run : runs) {
    require(
        std::isfinite(flops_of(*run, convention)),
        "{}:{}: {} parameters and {} tokens make {} FLOPs, which is no number to fit; check both",
        table.path, run->line, parameters_of(*run, convention.parameters), run->tokens,
        flops_of(*run, convention));
    points.push_back({parameters_of(*run, convention.parameters), run->tokens,
                      flops_of(*run, convention), run->loss, run - table.runs.data(), 0,
                      run->unique_tokens});
  }
  std::ranges::stable_sort(points, {}, order_of);
  const auto same = [](const ScalingPoint& one, const ScalingPoint& other) {
    return order_of(one) == order_of(other);
  };
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  for (size_t i = 0; i < points.size(); ++i) points[i].cluster = i;
  return points;
}

}  // namespace skein::scaling
