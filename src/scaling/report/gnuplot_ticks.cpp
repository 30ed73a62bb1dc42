#include "gnuplot_ticks.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "skein/scaling/report/text.h"

namespace skein {
namespace {

constexpr double kRoom = 0.05;  // of the range, on either side
constexpr int kPixelsOfTick = 62;

// What is beyond cannot be told from nothing and from infinity once there is room around it.
constexpr double kLeast = 1e-250, kMost = 1e250;

bool drawable(double value, bool logarithmic) {
  return std::abs(value) < kMost && (!logarithmic || value > kLeast);
}

void widen(Range& range, double value, bool logarithmic) {
  if (!drawable(value, logarithmic)) return;
  const double at = logarithmic ? std::log10(value) : value;
  range.low = std::min(range.low, at);
  range.high = std::max(range.high, at);
}

std::vector<double> mantissa_ticks(const Range& range, std::initializer_list<double> mantissas) {
  std::vector<double> made;
  for (double power = std::floor(std::log10(range.low)); power <= std::log10(range.high); ++power)
    for (const double mantissa : mantissas)
      if (const double at = mantissa * std::pow(10, power); at >= range.low && at <= range.high)
        made.push_back(at);
  return made;
}

std::vector<double> decade_ticks(const Range& range, int most) {
  const double first = std::ceil(std::log10(range.low)), last = std::floor(std::log10(range.high));
  const double step = std::max(1.0, std::ceil((last - first + 1) / most));
  std::vector<double> made;
  for (double power = std::ceil(first / step) * step; power <= last; power += step)
    made.push_back(std::pow(10, power));
  return made;
}

std::vector<double> linear_ticks(const Range& range, int most) {
  const double rough = (range.high - range.low) / most,
               power = std::pow(10, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double mantissa : {5.0, 2.5, 2.0, 1.0})
    if (mantissa * power >= rough) step = mantissa * power;
  std::vector<double> made;
  for (double i = std::ceil(range.low / step); i * step <= range.high; ++i)
    made.push_back(i * step);
  return made;
}

std::vector<double> places(const Axis& axis, const Range& range, int most) {
  if (!axis.logarithmic) return linear_ticks(range, most);
  const double decades = std::log10(range.high / range.low);
  if (decades > 3 || (axis.powers && decades > 2)) return decade_ticks(range, most);
  const auto fewest = static_cast<size_t>(std::clamp(most / 2, 3, 5));
  for (const auto& mantissas : {std::initializer_list<double>{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8},
                                {1, 2, 3, 5, 7},
                                {1, 2, 5},
                                {1, 3},
                                {1}})
    if (auto made = mantissa_ticks(range, mantissas);
        made.size() >= fewest && made.size() <= static_cast<size_t>(most))
      return made;
  return linear_ticks(range, most);
}

}  // namespace

Range range_of(const Panel& panel, bool x) {
  const bool logarithmic = (x ? panel.x : panel.y).logarithmic;
  Range range{INFINITY, -INFINITY};
  for (const Series& series : panel.series)
    for (const Sample& one : series.samples) {
      if (x)
        widen(range, one.x, logarithmic);
      else if (series.mark != Mark::band)
        widen(range, one.y, logarithmic);
      else
        widen(range, one.low, logarithmic), widen(range, one.high, logarithmic);
    }
  if (range.low > range.high) range = {0, 1};
  const double width = range.high - range.low,
               room = width > 0 ? kRoom * width : std::max(0.1, kRoom * std::abs(range.low));
  range = {range.low - room, range.high + room};
  return logarithmic ? Range{std::pow(10, range.low), std::pow(10, range.high)} : range;
}

std::vector<Tick> ticks_of(const Axis& axis, const Range& range, int pixels) {
  const int most = std::clamp(pixels / kPixelsOfTick, 3, 10);
  std::vector<Tick> made;
  for (const double at : places(axis, range, most))
    made.push_back({at, tick_text(at, axis.logarithmic && axis.powers, axis.logarithmic)});
  return made;
}

}  // namespace skein
