#include "figures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

#include "skein/core/numbers.h"
#include "skein/scaling/report/text.h"

#include "scaling/fit/intervals.h"

namespace skein::scaling::report {
namespace {

constexpr int kFewSizes = 9, kClasses = 6;
constexpr double kSameSize = 1.03;

// The greatest of each group of sizes that are as good as equal.
std::vector<double> distinct_sizes(const std::vector<ScalingPoint>& points) {
  std::set<double> sizes;
  for (const ScalingPoint& point : points) sizes.insert(point.n);
  std::vector<double> made;
  for (const double size : sizes) {
    if (made.empty() || size > made.back() * kSameSize) made.push_back(size);
    made.back() = size;
  }
  return made;
}

}  // namespace

Series straight(const std::string& title, Ink ink, Mark mark, double weight, const Sample& from,
                const Sample& to) {
  return {title, ink, mark, weight, {from, to}};
}

const std::string& run_name(const study::Study& study, int64_t run) {
  return study.table.runs[run].name;
}

std::vector<double> log_grid(double low, double high, int count) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i) made.push_back(low * std::pow(high / low, ratio(i, count - 1)));
  return made;
}

Sample band_sample(double x, std::vector<double> values) {
  const fit::Interval band = fit::interval_over(kUnknown, std::move(values), 0);
  return {.x = x, .low = band.low, .high = band.high};
}

ComputeRange compute_range(const study::Study& study) {
  const auto [least, most] = std::ranges::minmax(study.main.points, {}, &ScalingPoint::c);
  return {least.c, most.c, study.target ? std::max(study.target->flops, most.c) : most.c};
}

std::string compute_label(const Convention& convention) {
  switch (convention.flops) {
    case FlopCount::given: return "compute C, FLOPs as given";
    case FlopCount::six_n: return "compute C = 6 N D, FLOPs";
    case FlopCount::six_n_head: return "compute C = 6 (blocks + head) D, FLOPs";
    case FlopCount::exact: return "compute C, FLOPs counted exactly";
  }
  return {};
}

size_t SizeClasses::of(double n) const {
  const size_t at = std::ranges::lower_bound(upper, n) - upper.begin();
  return std::min(at, upper.size() - 1);
}

SizeClasses size_classes(const std::vector<ScalingPoint>& points) {
  SizeClasses made;
  const std::vector<double> sizes = distinct_sizes(points);
  if (sizes.size() <= kFewSizes) {
    made.upper = sizes;
    for (const double size : sizes) made.titles.push_back("N = " + count_text(size));
    return made;
  }
  const std::vector<double> edges = log_grid(sizes.front(), sizes.back(), kClasses + 1);
  for (int i = 0; i < kClasses; ++i) {
    made.upper.push_back(i + 1 == kClasses ? sizes.back() : edges[i + 1]);
    made.titles.push_back(
        fmt::format("N {} to {}", count_text(edges[i], 2), count_text(made.upper.back(), 2)));
  }
  return made;
}

std::vector<Figure> figures_of(const study::Study& study) {
  struct Kind {
    const char *name, *title;
    std::string (*fill)(const study::Study&, Figure&);
  };
  std::vector<Figure> made;
  for (const auto& [name, title, fill] :
       {Kind{"loss", "Loss against compute", fill_loss},
        {"isoflop", "Sizes at equal compute", fill_isoflop},
        {"allocation", "How much to spend on size, how much on data", fill_allocation},
        {"contour", "The fitted surface", fill_contour},
        {"residuals", "What the law leaves over", fill_residual},
        {"extrapolation", "Beyond the data", fill_extrapolation},
        {"single", "Size, data or compute alone", fill_single_law},
        {"bootstrap", "How well the numbers are known", fill_bootstrap},
        {"learning-rate", "Learning rates by size", fill_rate}}) {
    made.push_back({name, title});
    made.back().problem = fill(study, made.back());
    made.back().convention = "counted: " + scaling::name(study.main.convention);
  }
  made.push_back(coordinate_figure(study.coordinates));
  return made;
}

}  // namespace skein::scaling::report
