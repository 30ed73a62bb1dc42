// Loads and stores through the accumulator type, fixed-lane sums, and functions the compiler can vectorise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "skein/tensor/dtype.h"

namespace skein::kernels {

template <class T>
inline Accumulator<T> load(const T* p) { return static_cast<Accumulator<T>>(*p); }
template <class T>
inline void store(T* p, Accumulator<T> value) { *p = static_cast<T>(value); }

// Sum over i < n of f(i) kept in 16 lanes that are folded in a fixed order, so that the compiler may use
// vectors of any width and the bits stay.
template <class Sum, class F>
inline Sum lane_sum(int64_t n, const F& f) {
  constexpr int kLanes = 16;
  Sum lanes[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
  for (int64_t i = whole; i < n; ++i) lanes[i - whole] += f(i);
  for (int width = kLanes / 2; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

// Largest of f(i), i < n, n >= 1.
template <class A, class F>
inline A lane_max(int64_t n, const F& f) {
  constexpr int kLanes = 16;
  A lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = f(0);
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] = f(i + l) > lanes[l] ? f(i + l) : lanes[l];
  for (int64_t i = whole; i < n; ++i) lanes[0] = f(i) > lanes[0] ? f(i) : lanes[0];
  for (int l = 1; l < kLanes; ++l) lanes[0] = lanes[l] > lanes[0] ? lanes[l] : lanes[0];
  return lanes[0];
}

inline double exponential(double x) { return std::exp(x); }

// Cody-Waite reduction and a minimax polynomial of degree 6; within 2 ulp over the normal range, 0 below it.
inline float exponential(float x) {
  const float clamped = x < -87.3f ? -87.3f : (x > 88.7f ? 88.7f : x);
  const float shifted = clamped * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693145751953125f) - n * 1.42860677e-6f;
  float p = 1.388887e-3f;
  p = p * r + 8.3333333e-3f;
  p = p * r + 4.1666666e-2f;
  p = p * r + 1.6666667e-1f;
  p = p * r + 0.5f;
  const float y = p * (r * r) + r + 1.0f;
  int32_t bits;
  std::memcpy(&bits, &shifted, 4);
  const int32_t exponent = (bits - 0x4B400000) << 23;
  int32_t y_bits;
  std::memcpy(&y_bits, &y, 4);
  y_bits += exponent;
  float result;
  std::memcpy(&result, &y_bits, 4);
  return x < -87.3f ? 0.0f : (x > 88.7f ? HUGE_VALF : result);
}

inline double hyperbolic_tangent(double x) { return std::tanh(x); }
inline float hyperbolic_tangent(float x) {
  const float bounded = x > 10.0f ? 10.0f : (x < -10.0f ? -10.0f : x);
  return 1.0f - 2.0f / (exponential(2.0f * bounded) + 1.0f);
}

}  // namespace skein::kernels
