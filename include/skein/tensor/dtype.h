// The element types of tensors, their sizes and names, and the step from a DType value to a C++
// type.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "skein/core/error.h"

namespace skein {

enum class DType : uint8_t { f32, f64, bf16, i32, i64, u8, f16 };

// bfloat16 storage; arithmetic happens in float.
struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  // Rounds to nearest, ties to even; NaN stays NaN.
  explicit BFloat16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    bits = is_nan ? static_cast<uint16_t>(word >> 16 | 0x40)
                  : static_cast<uint16_t>((word + 0x7fffu + (word >> 16 & 1)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

// IEEE half precision storage; arithmetic happens in float.
struct Float16 {
  uint16_t bits;
  Float16() = default;
  // Rounds to nearest, ties to even; what is too large becomes infinite, NaN stays NaN.
  explicit Float16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const uint32_t sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
    bits = static_cast<uint16_t>(sign | magnitude(size));
  }
  explicit operator float() const {
    const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, size = bits & 0x7fffu;
    uint32_t word = 0;
    if (size >= 0x7c00u)
      word = 0x7f800000u | (size & 0x3ffu) << 13;
    else if (size >= 0x400u)
      word = (size << 13) + 0x38000000u;
    else
      word = std::bit_cast<uint32_t>(static_cast<float>(size) * 0x1p-24f);
    return std::bit_cast<float>(word | sign);
  }

 private:
  static uint32_t magnitude(uint32_t size) {
    if (size > 0x7f800000u) return 0x7e00u;
    if (size >= 0x477ff000u) return 0x7c00u;
    if (size >= 0x38800000u) return (size - 0x38000000u + 0xfffu + (size >> 13 & 1)) >> 13;
    // Below the smallest normal number: the addition rounds to multiples of 2^-24.
    return std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000u;
  }
};

constexpr int64_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32: return 4;
    case DType::f64:
    case DType::i64: return 8;
    case DType::bf16:
    case DType::f16: return 2;
    case DType::u8: return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f32: return "f32";
    case DType::f64: return "f64";
    case DType::bf16: return "bf16";
    case DType::f16: return "f16";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
    case DType::u8: return "u8";
  }
  return "?";
}

// The inverse of name_of; a usage error for an unknown name.
DType dtype_from_name(std::string_view name);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<BFloat16> : std::integral_constant<DType, DType::bf16> {};
template <>
struct DTypeOf<Float16> : std::integral_constant<DType, DType::f16> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::i32> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::i64> {};
template <>
struct DTypeOf<uint8_t> : std::integral_constant<DType, DType::u8> {};

template <class T>
struct TypeTag {
  using type = T;
};

// The type sums are kept in: double for double, float otherwise.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Gradients of parameters are kept in this type: f64 for f64 models, f32 otherwise.
constexpr DType gradient_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

// Calls f(TypeTag<T>{}) for a floating dtype.
template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f32: return f(TypeTag<float>{});
    case DType::f64: return f(TypeTag<double>{});
    case DType::bf16: return f(TypeTag<BFloat16>{});
    case DType::f16: return f(TypeTag<Float16>{});
    default: break;
  }
  throw Error(ExitCode::internal,
              fmt::format("a floating tensor was needed, not {}", name_of(dtype)));
}

}  // namespace skein
