// The coordinate check of muP.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "figures.h"

namespace skein::scaling::report {
namespace {

constexpr size_t kFewLayers = 12;
constexpr double kFlat = 0.2;  // as `skein bench` judges

// Of many layers the ends and the middle stand in the legend.
std::string title_of(const study::CoordinateCheck& check, size_t layer) {
  const size_t count = check.layers.size();
  return count <= kFewLayers || layer < 2 || layer == count / 2 || layer + 2 >= count
             ? check.layers[layer].name
             : "";
}

Panel sizes_panel(const study::CoordinateCheck& check) {
  Panel panel{fmt::format("{}: after {} steps", check.name, check.steps),
              {"width", true},
              {"mean |activation|", true}};
  for (size_t layer = 0; layer < check.layers.size(); ++layer) {
    Series line{"", size_ink(layer, check.layers.size()), Mark::line, 1.5};
    const auto& [name, grows, exponents, sizes] = check.layers[layer];
    for (size_t i = 0; i < check.widths.size(); ++i)
      line.samples.push_back({1.0 * check.widths[i], sizes.back()[i], name});
    panel.series.push_back(line);
    panel.series.push_back({title_of(check, layer), line.ink, Mark::dots, 1.8, line.samples});
  }
  return panel;
}

Panel growth_panel(const study::CoordinateCheck& check) {
  Panel panel{check.name + ": growth while it learns", {"step"}, {"exponent of the width"}};
  const double end = check.steps;
  for (size_t layer = 0; layer < check.layers.size(); ++layer) {
    Series line{"", size_ink(layer, check.layers.size()), Mark::line, 2};
    for (const double exponent : check.layers[layer].exponents)
      line.samples.push_back({1.0 * line.samples.size(), exponent, check.layers[layer].name});
    panel.series.push_back(line);
  }
  panel.series.push_back({"", Ink::faint, Mark::line, 1, {{0, 0}, {end, 0}}});
  panel.series.push_back(
      {"called growth from here", Ink::alert, Mark::dashes, 1.5, {{0, kFlat}, {end, kFlat}}});
  return panel;
}

std::string verdict_of(const study::CoordinateCheck& check) {
  std::vector<std::string> growing;
  for (const study::CoordinateLayer& layer : check.layers)
    if (layer.grows) growing.push_back(layer.name);
  if (growing.empty()) return fmt::format("{}: no layer grows with the width.", check.name);
  const size_t count = growing.size();
  if (count > kFewLayers) growing.resize(kFewLayers);
  return fmt::format("{}: {} of {} layers grow with the width ({}{}).", check.name, count,
                     check.layers.size(), fmt::join(growing, ", "),
                     count > kFewLayers ? " and others" : "");
}

}  // namespace

Figure coordinate_figure(const std::vector<study::CoordinateCheck>& checks) {
  Figure made{"coordinates", "Activations as the width grows"};
  if (checks.empty()) {
    made.problem =
        "No coordinate check of muP was given (report.coordinates: what `skein bench "
        "--bench.what=coordinates` wrote).";
    return made;
  }
  made.convention = fmt::format("counted: mean |activation| of each layer over widths {}",
                                fmt::join(checks.front().widths, ", "));
  made.caption =
      "A learning rate holds at every width where no layer's activations grow with the width in "
      "the first steps; what shrinks is no fault.";
  for (const study::CoordinateCheck& check : checks) {
    made.panels.insert(made.panels.end(), {sizes_panel(check), growth_panel(check)});
    made.caption += fmt::format(" {}", verdict_of(check));
  }
  return made;
}

}  // namespace skein::scaling::report
