#include "option_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "skein/core/strings.h"

namespace skein {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::optional<std::string> without_separators(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return digits;
}

int64_t factor_of(char suffix) {
  switch (suffix) {
    case 'k': return 1'000;
    case 'M': return 1'000'000;
    case 'G': return 1'000'000'000;
    default: return 1;
  }
}

template <class T>
std::optional<T> read_all(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "2500000" for 2.5e6 and "-10" for -1e1; the text itself without an exponent; nothing where the
// value is not whole.
std::optional<std::string> without_exponent(const std::string& text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string::npos) return text;
  const bool plus = text.compare(e + 1, 1, "+") == 0;
  const auto exponent = read_all<int>(std::string_view(text).substr(e + (plus ? 2 : 1)));
  std::string digits = text.substr(0, e);
  const size_t point = digits.find('.');
  const bool digit_last = e > 0 && is_digit(text[e - 1]),
             digit_first = point == std::string::npos || (point > 0 && is_digit(text[point - 1]));
  if (!exponent || (plus && *exponent < 0) || !digit_last || !digit_first) return std::nullopt;
  int64_t zeros = *exponent;
  if (point != std::string::npos) {
    zeros -= digits.size() - point - 1;
    digits.erase(point, 1);
  }
  constexpr int64_t kMostZeros = 20;  // more than any whole number has
  for (; zeros < 0 && digits.ends_with('0') && digits.size() > 1; ++zeros) digits.pop_back();
  if (zeros < 0 || zeros > kMostZeros) return std::nullopt;
  return digits + std::string(zeros, '0');
}

}  // namespace

std::optional<bool> read_truth(std::string_view text) {
  static constexpr std::array<std::string_view, 4> kYes{"true", "on", "yes", "1"},
      kNo{"false", "off", "no", "0"};
  if (std::find(kYes.begin(), kYes.end(), text) != kYes.end()) return true;
  if (std::find(kNo.begin(), kNo.end(), text) != kNo.end()) return false;
  return std::nullopt;
}

template <class T>
std::optional<T> read_whole(std::string_view text) {
  const int64_t factor = text.empty() ? 1 : factor_of(text.back());
  if (factor > 1) text.remove_suffix(1);
  const auto written = without_separators(text);
  const auto digits = written && factor == 1 ? without_exponent(*written) : written;
  const auto value = digits ? read_all<T>(*digits) : std::nullopt;
  T scaled{};
  if (!value || __builtin_mul_overflow(*value, factor, &scaled)) return std::nullopt;
  return scaled;
}

template std::optional<int> read_whole<int>(std::string_view);
template std::optional<int64_t> read_whole<int64_t>(std::string_view);
template std::optional<uint64_t> read_whole<uint64_t>(std::string_view);

std::optional<double> read_real(std::string_view text) {
  const auto value = read_all<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::vector<std::string>> read_words(std::string_view text) {
  std::vector<std::string> words;
  if (trimmed(text).empty()) return words;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(trimmed(text.substr(begin, end - begin)));
    if (words.back().empty()) return std::nullopt;
    begin = end + 1;
  }
  return words;
}

std::optional<std::vector<int64_t>> read_wholes(std::string_view text) {
  const auto words = read_words(text);
  if (!words) return std::nullopt;
  std::vector<int64_t> values;
  for (const std::string& word : *words) {
    const auto value = read_whole<int64_t>(word);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::string text_of(bool value) { return value ? "true" : "false"; }
std::string text_of(int value) { return fmt::format("{}", value); }
std::string text_of(int64_t value) { return fmt::format("{}", value); }
std::string text_of(uint64_t value) { return fmt::format("{}", value); }
std::string text_of(double value) { return fmt::format("{}", value); }
std::string text_of(const std::string& value) { return value; }
std::string text_of(const std::vector<std::string>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}
std::string text_of(const std::vector<int64_t>& value) {
  return fmt::format("{}", fmt::join(value, ","));
}

}  // namespace skein
