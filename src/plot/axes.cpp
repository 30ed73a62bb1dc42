#include "axes.h"

#include <algorithm>
#include <cmath>

#include "skein/core/numbers.h"
#include "skein/plot/text.h"

namespace skein::plot {
namespace {

constexpr double kRoom = 0.05;  // of the range, on either side
constexpr int kPixelsOfTick = 62;
constexpr double kLargeCount = 1e5;  // from where on ticks are as 200 k, 1.5 M

// What is beyond cannot be told from nothing and from infinity once there is room around it.
constexpr double kLeast = 1e-250, kMost = 1e250;

std::vector<double> mantissa_ticks(const AxisScale& scale,
                                   std::initializer_list<double> mantissas) {
  std::vector<double> made;
  for (double power = std::floor(std::log10(scale.low)); power <= std::log10(scale.high); ++power)
    for (const double mantissa : mantissas)
      if (const double at = mantissa * std::pow(10, power); at >= scale.low && at <= scale.high)
        made.push_back(at);
  return made;
}

std::vector<double> decade_ticks(const AxisScale& scale, int most) {
  const double first = std::ceil(std::log10(scale.low)), last = std::floor(std::log10(scale.high));
  const double step = std::max(1.0, std::ceil((last - first + 1) / most));
  std::vector<double> made;
  for (double power = std::ceil(first / step) * step; power <= last; power += step)
    made.push_back(std::pow(10, power));
  return made;
}

std::vector<double> linear_ticks(const AxisScale& scale, int most) {
  const double rough = (scale.high - scale.low) / most,
               power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double mantissa : {5.0, 2.5, 2.0, 1.0})
    if (mantissa * power >= rough) step = mantissa * power;
  std::vector<double> made;
  for (double i = std::ceil(scale.low / step); i * step <= scale.high; ++i)
    made.push_back(i * step);
  return made;
}

std::vector<double> tick_values(const Axis& axis, const AxisScale& scale, int most) {
  if (!axis.logarithmic) return linear_ticks(scale, most);
  const double decades = std::log10(scale.high / scale.low);
  if (decades > 3 || (axis.powers && decades > 2)) return decade_ticks(scale, most);
  const int fewest = std::clamp(most / 2, 3, 5);
  for (const auto& mantissas : {std::initializer_list<double>{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8},
                                {1, 2, 3, 5, 7},
                                {1, 2, 5},
                                {1, 3},
                                {1}})
    if (auto made = mantissa_ticks(scale, mantissas);
        std::ssize(made) >= fewest && std::ssize(made) <= most)
      return made;
  return linear_ticks(scale, most);
}

AxisScale around(const std::vector<double>& values, bool logarithmic) {
  double low = INFINITY, high = -INFINITY;
  for (const double value : values) {
    if (!(std::abs(value) < kMost) || (logarithmic && !(value > kLeast))) continue;
    const double at = logarithmic ? std::log10(value) : value;
    low = std::min(low, at), high = std::max(high, at);
  }
  if (low > high) low = 0, high = 1;
  const double room = high > low ? kRoom * (high - low) : std::max(0.1, kRoom * std::abs(low));
  low -= room, high += room;
  return logarithmic ? AxisScale{std::pow(10, low), std::pow(10, high)} : AxisScale{low, high};
}

AxisScale marked(AxisScale scale, const Axis& axis, int pixels) {
  const bool counts = axis.logarithmic || scale.high >= kLargeCount;
  for (const double at : tick_values(axis, scale, std::clamp(pixels / kPixelsOfTick, 3, 10)))
    scale.ticks.push_back({at, tick_text(at, axis.logarithmic && axis.powers, counts)});
  return scale;
}

}  // namespace

FigureSize size_of(const Figure& figure) {
  const int panels = narrow<int>(figure.panels.size());
  if (panels == 1) return {900, 500, 1, 1};
  if (panels == 2) return {900, 410, 2, 1};
  if (panels == 3) return {940, 360, 3, 1};
  const int rows = (panels + 1) / 2;
  return {900, 350 * rows, 2, rows};
}

AxisScale x_scale(const Figure& figure, const Panel& panel) {
  std::vector<double> values;
  for (const Series& series : panel.series)
    for (const Sample& one : series.samples) values.push_back(one.x);
  const FigureSize size = size_of(figure);
  return marked(around(values, panel.x.logarithmic), panel.x, size.width / size.columns);
}

AxisScale y_scale(const Figure& figure, const Panel& panel) {
  std::vector<double> values;
  for (const Series& series : panel.series)
    for (const Sample& one : series.samples)
      if (series.mark == Mark::band)
        values.insert(values.end(), {one.low, one.high});
      else
        values.push_back(one.y);
  const FigureSize size = size_of(figure);
  return marked(around(values, panel.y.logarithmic), panel.y, size.height / size.rows);
}

}  // namespace skein::plot
