#include "option_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

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

// A small m is left out: it stands for minutes elsewhere.
int64_t factor_of(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K': return 1'000;
    case 'M': return 1'000'000;
    case 'g':
    case 'G': return 1'000'000'000;
    default: return 1;
  }
}

// "2500000" for 2.5e6 and "-10" for -1e1; the text itself without an exponent; nothing where the
// value is not whole.
std::optional<std::string> without_exponent(const std::string& text) {
  const size_t e = text.find_first_of("eE");
  if (e == std::string::npos) return text;
  const bool plus = text.compare(e + 1, 1, "+") == 0;
  const auto exponent = parsed_number<int>(std::string_view(text).substr(e + (plus ? 2 : 1)));
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

bool read_value(const std::string& text, bool& value) {
  static constexpr std::array<std::string_view, 4> kYes{"true", "on", "yes", "1"},
      kNo{"false", "off", "no", "0"};
  const bool yes = std::ranges::find(kYes, text) != kYes.end();
  if (!yes && std::ranges::find(kNo, text) == kNo.end()) return false;
  value = yes;
  return true;
}

template <std::integral T>
bool read_value(const std::string& text, T& value) {
  const int64_t factor = text.empty() ? 1 : factor_of(text.back());
  const auto written =
      without_separators(std::string_view(text).substr(0, text.size() - (factor > 1 ? 1 : 0)));
  const auto digits = written && factor == 1 ? without_exponent(*written) : written;
  const auto number = digits ? parsed_number<T>(*digits) : std::nullopt;
  T scaled{};
  if (!number || __builtin_mul_overflow(*number, factor, &scaled)) return false;
  value = scaled;
  return true;
}

template bool read_value(const std::string&, int&);
template bool read_value(const std::string&, int64_t&);
template bool read_value(const std::string&, uint64_t&);

bool read_value(const std::string& text, double& value) {
  const auto number = parsed_number<double>(text);
  if (!number || !std::isfinite(*number)) return false;
  value = *number;
  return true;
}

bool read_value(const std::string& text, std::string& value) {
  value = text;
  return true;
}

bool read_value(const std::string& text, std::vector<std::string>& value) {
  std::vector<std::string> words;
  const bool none = trimmed(text).empty();
  for (size_t begin = 0; !none && begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    words.push_back(trimmed(std::string_view(text).substr(begin, end - begin)));
    if (words.back().empty()) return false;
    begin = end + 1;
  }
  value = std::move(words);
  return true;
}

namespace {

template <class T>
bool read_numbers(const std::string& text, std::vector<T>& value) {
  std::vector<std::string> words;
  if (!read_value(text, words)) return false;
  std::vector<T> numbers(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    if (!read_value(words[i], numbers[i])) return false;
  value = std::move(numbers);
  return true;
}

}  // namespace

bool read_value(const std::string& text, std::vector<int64_t>& value) {
  return read_numbers(text, value);
}

bool read_value(const std::string& text, std::vector<double>& value) {
  return read_numbers(text, value);
}

}  // namespace skein
