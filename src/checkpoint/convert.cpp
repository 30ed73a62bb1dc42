#include "convert.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace skein::checkpoint {
namespace {

// Rounding a double to float and then to two bytes would round twice. Rounded to odd in between,
// the last step still sees on which side of a tie the value lies.
float to_odd(double value) {
  const float near = static_cast<float>(value);
  if (near == value || std::isnan(value)) return near;
  auto bits = std::bit_cast<uint32_t>(near);
  if (std::fabs(near) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1u);
}

template <class To, class From>
To converted(From value) {
  if constexpr (sizeof(From) == 2)
    return static_cast<To>(static_cast<float>(value));
  else if constexpr (sizeof(To) == 2 && std::is_same_v<From, double>)
    return To(to_odd(value));
  else
    return static_cast<To>(value);
}

template <class From, class To>
void convert_each(const std::byte* from, std::byte* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    From source;
    std::memcpy(&source, from + i * sizeof(From), sizeof(From));
    const To result = converted<To>(source);
    std::memcpy(to + i * sizeof(To), &result, sizeof(To));
  }
}

}  // namespace

void convert_run(DType from_dtype, const std::byte* from, DType to_dtype, std::byte* to,
                 int64_t count) {
  if (from_dtype == to_dtype) {
    if (count > 0) std::memcpy(to, from, count * size_of(from_dtype));
    return;
  }
  visit_float(from_dtype, [&](auto from_tag) {
    visit_float(to_dtype, [&](auto to_tag) {
      convert_each<typename decltype(from_tag)::type, typename decltype(to_tag)::type>(from, to,
                                                                                       count);
    });
  });
}

}  // namespace skein::checkpoint
