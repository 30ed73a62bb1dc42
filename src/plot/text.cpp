#include "skein/plot/text.h"

#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace skein::plot {
namespace {

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
    return fmt::format("{:.4g}{}", value / std::pow(1000, thousands), kUnits[thousands]);
  }
  return with_minus(fmt::format("{:.6g}", std::abs(value) < 1e-12 ? 0.0 : value));
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

}  // namespace skein::plot
