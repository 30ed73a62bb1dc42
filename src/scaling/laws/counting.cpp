#include <algorithm>
#include <cmath>
#include <tuple>

#include "skein/core/error.h"
#include "skein/scaling/laws/results.h"

namespace skein {
namespace {

constexpr ParameterCount kParameterCounts[] = {ParameterCount::given, ParameterCount::blocks,
                                               ParameterCount::blocks_head, ParameterCount::all};
constexpr FlopCount kFlopCounts[] = {FlopCount::given, FlopCount::six_n, FlopCount::six_n_head,
                                     FlopCount::exact};

const char* name_of(ParameterCount count) {
  switch (count) {
    case ParameterCount::given: return "parameters as given";
    case ParameterCount::blocks: return "blocks";
    case ParameterCount::blocks_head: return "blocks + head";
    case ParameterCount::all: return "all parameters";
  }
  return "";
}

const char* name_of(FlopCount count) {
  switch (count) {
    case FlopCount::given: return "FLOPs as given";
    case FlopCount::six_n: return "6 N D FLOPs";
    case FlopCount::six_n_head: return "6 (blocks + head) D FLOPs";
    case FlopCount::exact: return "exact FLOPs";
  }
  return "";
}

std::vector<const ScalingRun*> done_runs(const ScalingTable& table) {
  std::vector<const ScalingRun*> runs;
  for (const ScalingRun& run : table.runs)
    if (run.status == "done") runs.push_back(&run);
  return runs;
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
  std::string lines;
  int left = 10;
  for (const ScalingRun* run : runs)
    if (!known({run}, convention) && left-- > 0)
      lines += fmt::format("{}{}", lines.empty() ? "" : ", ", run->line);
  return left < 0 ? lines + ", ..." : lines;
}

}  // namespace

std::string name(const Convention& convention) {
  return fmt::format("{}, {}", name_of(convention.parameters), name_of(convention.flops));
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
  for (ParameterCount parameters : kParameterCounts) {
    for (FlopCount flops : kFlopCounts) {
      const Convention convention{parameters, flops};
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
  const auto before = [](const ScalingPoint& one, const ScalingPoint& other) {
    return order_of(one) < order_of(other);
  };
  const auto same = [](const ScalingPoint& one, const ScalingPoint& other) {
    return order_of(one) == order_of(other);
  };
  std::stable_sort(points.begin(), points.end(), before);
  points.erase(std::unique(points.begin(), points.end(), same), points.end());
  for (size_t i = 0; i < points.size(); ++i) points[i].cluster = i;
  return points;
}

}  // namespace skein
