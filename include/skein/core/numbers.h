// Numbers as messages show them, products of sizes that may come from anywhere, and the one way to
// fewer bits. The house counts in int64_t; what the library measures is std::ssize, and what it
// wants as size_t or double takes an int64_t as it is, without a cast.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "skein/core/error.h"

namespace skein {

// x, but a NaN without a sign: which one it has hangs on the instruction that made it, and "-nan"
// tells nobody anything.
inline double shown_number(double x) {
  return std::isnan(x) ? std::numeric_limits<double>::quiet_NaN() : x;
}

// The product of `sizes` and `times`. Nothing where one of them is negative, or a product on the
// way is beyond what 64 bits hold: whatever multiplies the sizes of a tensor or a file does it
// here.
inline std::optional<int64_t> checked_product(std::span<const int64_t> sizes, int64_t times = 1) {
  int64_t product = times;
  for (const int64_t size : sizes)
    if (size < 0 || __builtin_mul_overflow(product, size, &product)) return {};
  return times < 0 ? std::nullopt : std::optional(product);
}

// The whole number `value` in a type of fewer bits, or of the other sign. One that does not fit is
// a mistake of ours (an Error that names the caller's file and line): what comes from a user or a
// file is refused before.
template <class To, class From>
constexpr To narrow(From value, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!std::in_range<To>(value))
    detail::check_failed("narrow", fmt::format("{} does not fit {} bytes", value, sizeof(To)), file,
                         line);
  return static_cast<To>(value);
}

// How many parts of `part` hold `count`; the last one may be less.
constexpr int64_t pieces_of(int64_t count, int64_t part) { return (count + part - 1) / part; }
// The least multiple of `multiple` that is not below `count`.
constexpr int64_t rounded_up(int64_t count, int64_t multiple) {
  return pieces_of(count, multiple) * multiple;
}

// The quotient of two numbers that may be counts.
inline double ratio(double part, double whole) { return part / whole; }

// log(1 / (1 + exp(-x))) and 1 / (1 + exp(-x)), exact to rounding for every x.
inline double log_sigmoid(double x) {
  return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}
inline double sigmoid(double x) {
  const double small = std::exp(-std::abs(x));
  return (x >= 0 ? 1 : small) / (1 + small);
}

}  // namespace skein
