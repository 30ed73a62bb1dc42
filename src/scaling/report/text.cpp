#include "skein/scaling/report/text.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skein::scaling::report {
namespace {

constexpr double kOutlier = 4;  // robust standard deviations

// A minus sign as long as a plus.
std::string with_minus(std::string text) {
  if (text.starts_with('-')) text.replace(0, 1, "−");
  return text;
}

// Of so many significant digits, trailing zeros kept: 2.00, 74.0, 518.
std::string digits_of(double value, int digits) {
  std::string text = fmt::format("{:#.{}g}", value, digits);
  if (text.find('.') != std::string::npos && std::abs(value) >= 0.9995 * std::pow(10, digits - 1) &&
      text.ends_with(".0"))
    text.resize(text.size() - 2);
  if (text.back() == '.') text.pop_back();
  return with_minus(text);
}

std::string superscript(int power) {
  static constexpr const char* kDigits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string made;
  for (const char c : std::to_string(power)) made += c == '-' ? "⁻" : kDigits[c - '0'];
  return made;
}

double median(std::vector<double> values) {
  if (values.empty()) return kUnknown;
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::string power_text(double value, int digits) {
  if (!std::isfinite(value)) return "unknown";
  if (value == 0) return "0";
  auto power = static_cast<int>(std::floor(std::log10(std::abs(value))));
  std::string mantissa = digits_of(value / std::pow(10, power), digits);
  if (mantissa.starts_with("10") || mantissa.starts_with("−10"))
    mantissa = digits_of(value / std::pow(10, ++power), digits);
  return (mantissa == "1" ? "10" : mantissa + "×10") + superscript(power);
}

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return "unknown";
  if (value != 0 && (std::abs(value) < 1e-3 || std::abs(value) >= 1e5))
    return power_text(value, digits);
  if (std::abs(value) >= std::pow(10, digits)) return with_minus(fmt::format("{:.0f}", value));
  return digits_of(value, digits);
}

std::string count_text(double value, int digits) {
  if (!std::isfinite(value)) return "unknown";
  static constexpr std::pair<double, const char*> kUnits[] = {
      {1e12, "\u00a0T"}, {1e9, "\u00a0B"}, {1e6, "\u00a0M"}, {1e3, "\u00a0k"}};
  if (std::abs(value) >= 9.995e14 || (value != 0 && std::abs(value) < 0.1))
    return power_text(value, digits);
  for (const auto& [size, name] : kUnits)
    if (const double scaled = value / size; std::abs(value) >= 0.9995 * size)
      return (std::abs(scaled) >= std::pow(10, digits) ? fmt::format("{:.0f}", scaled)
                                                       : digits_of(scaled, digits)) +
             name;
  return digits_of(value, std::max(digits, 3));
}

std::string runs_text(int64_t count) {
  return fmt::format("{} run{}", count, count == 1 ? "" : "s");
}

std::string signed_share(double share) { return with_minus(fmt::format("{:+.2f}%", 100 * share)); }

std::string tick_text(double value, bool power, bool count) {
  const double exponent = std::floor(std::log10(std::abs(value)) + 1e-9),
               mantissa = value / std::pow(10, exponent);
  if (power)
    return (std::abs(mantissa - 1) < 1e-9 ? "10" : fmt::format("{:.3g}×10", mantissa)) +
           superscript(static_cast<int>(exponent));
  if (count && value >= 1e3 && value < 1e15) {
    const int thousands = std::min(4, static_cast<int>(exponent) / 3);
    static constexpr const char* kUnits[] = {"", " k", " M", " B", " T"};
    return fmt::format("{:.3g}{}", value / std::pow(1000, thousands), kUnits[thousands]);
  }
  return with_minus(fmt::format("{:.6g}", std::abs(value) < 1e-12 ? 0.0 : value));
}

std::string interval_text(const fit::Interval& interval, NumberText text, int digits) {
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high))
    return text(interval.value, digits);
  return fmt::format("{} ({} to {})", text(interval.value, digits), text(interval.low, digits),
                     text(interval.high, digits));
}

std::vector<std::string> exponents_of(const study::ConventionStudy& study,
                                      const std::array<const char*, 3>& approaches) {
  std::vector<std::string> made;
  const auto add = [&](const fit::Interval& exponent, const char* approach) {
    made.push_back(interval_text(exponent) + " by " + approach);
  };
  if (knows_exponent(study.envelope)) add(study.envelope.n_of_c.exponent, approaches[0]);
  if (study.isoflop.valid()) add(study.isoflop.n_of_c.exponent, approaches[1]);
  if (std::isfinite(study.n_exponent.value)) add(study.n_exponent, approaches[2]);
  return made;
}

std::string shortened(const std::string& name) {
  constexpr int kMostCharacters = 28;
  int count = 0;
  for (size_t at = 0; at < name.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(name[at]) & 0xc0) != 0x80;
    if (begins && ++count > kMostCharacters) return name.substr(0, at) + "…";
  }
  return name;
}

std::vector<double> residuals_of(const study::ConventionStudy& study) {
  std::vector<double> made;
  if (!study.parametric) return made;
  for (const ScalingPoint& point : study.points)
    made.push_back(std::log(point.loss) - std::log(study.parametric->law.loss(point.n, point.d)));
  return made;
}

std::vector<size_t> outliers_of(const std::vector<double>& residuals) {
  const double centre = median(residuals);
  std::vector<double> distances;
  for (const double one : residuals) distances.push_back(std::abs(one - centre));
  const double limit = kOutlier * 1.4826 * median(distances);
  std::vector<size_t> found;
  for (size_t i = 0; i < distances.size(); ++i)
    if (distances[i] > limit && distances[i] > 0) found.push_back(i);
  std::ranges::stable_sort(found, std::greater{}, [&](size_t i) { return distances[i]; });
  return found;
}

}  // namespace skein::scaling::report
