#include "figures.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "skein/scaling/report/text.h"

namespace skein {
namespace {

constexpr int kFewSizes = 9, kClasses = 6;
constexpr double kSameSize = 1.03;

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::string csv_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string made = "\"";
  for (const char c : text) made += c == '"' ? std::string("\"\"") : std::string(1, c);
  return made + "\"";
}

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.17g}", value) : "";
}

// The greatest of each group of sizes that are as good as equal.
std::vector<double> distinct_sizes(const std::vector<ScalingPoint>& points) {
  std::vector<double> sizes;
  for (const ScalingPoint& point : points) sizes.push_back(point.n);
  std::sort(sizes.begin(), sizes.end());
  std::vector<double> made;
  for (const double size : sizes) {
    if (made.empty() || size > made.back() * kSameSize)
      made.push_back(size);
    else
      made.back() = size;
  }
  return made;
}

}  // namespace

Ink size_ink(int64_t index, int64_t count) {
  const int64_t step = count < 2 ? kSizeInks / 2 : index * (kSizeInks - 1) / (count - 1);
  return static_cast<Ink>(static_cast<int64_t>(Ink::size_0) +
                          std::clamp<int64_t>(step, 0, kSizeInks - 1));
}

std::vector<double> log_grid(double low, double high, int count) {
  std::vector<double> made;
  for (int i = 0; i < count; ++i)
    made.push_back(low * std::pow(high / low, static_cast<double>(i) / (count - 1)));
  return made;
}

Sample band_sample(double x, std::vector<double> values) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return {x, kUnknown};
  std::sort(values.begin(), values.end());
  return {x, kUnknown, quantile(values, 0.025), quantile(values, 0.975)};
}

ComputeRange compute_range(const Study& study) {
  ComputeRange made{INFINITY, 0, 0};
  for (const ScalingPoint& point : study.main.points) {
    made.low = std::min(made.low, point.c);
    made.high = std::max(made.high, point.c);
  }
  made.target = study.target ? std::max(study.target->flops, made.high) : made.high;
  return made;
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
  return std::min(
      static_cast<size_t>(std::lower_bound(upper.begin(), upper.end(), n) - upper.begin()),
      upper.size() - 1);
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
    made.upper.push_back(i + 1 == kClasses ? sizes.back() : edges[static_cast<size_t>(i) + 1]);
    made.titles.push_back(fmt::format("N {} to {}", count_text(edges[static_cast<size_t>(i)], 2),
                                      count_text(made.upper.back(), 2)));
  }
  return made;
}

std::vector<ScalingFigure> figures_of(const Study& study) {
  std::vector<ScalingFigure> made;
  for (const auto make :
       {loss_figure, isoflop_figure, allocation_figure, contour_figure, residual_figure,
        extrapolation_figure, single_law_figure, bootstrap_figure, rate_figure}) {
    made.push_back(make(study));
    made.back().convention = convention_text(study.main.convention);
  }
  made.push_back(coordinate_figure(study.coordinates));
  return made;
}

std::string figure_csv(const ScalingFigure& figure) {
  std::string made = "panel,series,x,y,low,high,run\n";
  for (size_t p = 0; p < figure.panels.size(); ++p) {
    const Panel& panel = figure.panels[p];
    const std::string name = csv_text(panel.title.empty() ? figure.title : panel.title);
    for (const Series& series : panel.series)
      for (const Sample& one : series.samples) {
        if (!std::isfinite(one.x)) continue;
        made += fmt::format("{},{},{},{},{},{},{}\n", name, csv_text(series.title),
                            csv_number(one.x), csv_number(one.y), csv_number(one.low),
                            csv_number(one.high), csv_text(one.name));
      }
  }
  return made;
}

}  // namespace skein
