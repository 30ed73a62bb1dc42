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

// The approaches: blue, orange and green of Okabe and Ito ("Color universal design", 2008), darker
// or brighter for contrast; sizes: viridis without the end that the ground would swallow.
constexpr InkColours kInkColours[kInks] = {
    {"text", "#1d2430", "#e6e9ef"},    {"faint", "#667085", "#98a2b3"},
    {"grid", "#e4e7ec", "#2b3342"},    {"envelope", "#b4540a", "#f2a65a"},
    {"isoflop", "#0b6fb8", "#6cb8f0"}, {"parametric", "#00795a", "#3fcf9f"},
    {"alert", "#c01f5b", "#ff7aa8"},   {"size-0", "#440154", "#6c4fa8"},
    {"size-1", "#472d7b", "#5f6bc4"},  {"size-2", "#3b528b", "#4c86c8"},
    {"size-3", "#2c728e", "#3a9fc0"},  {"size-4", "#21918c", "#2fb5ab"},
    {"size-5", "#28a06f", "#45c88b"},  {"size-6", "#56ad46", "#7fd65c"},
    {"size-7", "#90b029", "#b5de2b"},  {"size-8", "#c2a318", "#fde725"}};
constexpr size_t kMostPoints = 4000;
constexpr int kFewSizes = 9, kClasses = 6;
constexpr double kSameSize = 1.03;

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

Ink size_ink(int64_t index, int64_t count) {
  const int64_t step = count < 2 ? kSizeInks / 2 : index * (kSizeInks - 1) / (count - 1);
  return static_cast<Ink>(kInks - kSizeInks + std::clamp<int64_t>(step, 0, kSizeInks - 1));
}

const InkColours& colours_of(Ink ink) { return kInkColours[static_cast<size_t>(ink)]; }

std::vector<Sample> drawn_samples(const Series& series) {
  const bool points = series.mark == Mark::dots || series.mark == Mark::rings;
  const size_t step = points ? series.samples.size() / kMostPoints + 1 : 1;
  std::vector<Sample> made;
  for (size_t at = 0; at < series.samples.size(); at += step) made.push_back(series.samples[at]);
  return made;
}

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

std::vector<ScalingFigure> figures_of(const study::Study& study) {
  struct Kind {
    const char *name, *title;
    std::string (*fill)(const study::Study&, ScalingFigure&);
  };
  std::vector<ScalingFigure> made;
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

std::string figure_csv(const ScalingFigure& figure) {
  std::string made = "panel,series,x,y,low,high,run\n";
  for (const Panel& panel : figure.panels) {
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

}  // namespace skein::scaling::report
