#include "skein/plot/figure.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "skein/core/strings.h"

namespace skein::plot {
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

std::string csv_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.17g}", value) : "";
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

std::string figure_csv(const Figure& figure) {
  std::string made = "panel,series,x,y,low,high,run\n";
  for (const Panel& panel : figure.panels) {
    const std::string name = csv_field(panel.title.empty() ? figure.title : panel.title);
    for (const Series& series : panel.series)
      for (const Sample& one : series.samples) {
        if (!std::isfinite(one.x)) continue;
        made += fmt::format("{},{},{},{},{},{},{}\n", name, csv_field(series.title),
                            csv_number(one.x), csv_number(one.y), csv_number(one.low),
                            csv_number(one.high), csv_field(one.name));
      }
  }
  return made;
}

}  // namespace skein::plot
