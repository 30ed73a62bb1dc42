// Loads and stores through the accumulator type, fixed-lane sums, and functions the compiler can vectorise.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "simd.h"
#include "skein/tensor/dtype.h"

namespace skein::kernels {

template <class T>
inline Accumulator<T> load(const T* p) { return static_cast<Accumulator<T>>(*p); }
template <class T>
inline void store(T* p, Accumulator<T> value) { *p = static_cast<T>(value); }

inline float power_of_two(int32_t exponent) {
  const int32_t bits = (exponent + 127) << 23;
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

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

// Cody-Waite reduction and the polynomial of Moshier's Cephes; within 2 ulp over the normal range, 0 below it.
inline float exponential(float x) {
  const float bounded = x > 89.0f ? 89.0f : x;
  const float shifted = fused(bounded, 1.44269504f, 12582912.0f);
  const float n = shifted - 12582912.0f;
  const float r = fused(n, -1.42860677e-6f, fused(n, -0.693145751953125f, bounded));
  float p = 1.9875691500e-4f;
  p = fused(p, r, 1.3981999507e-3f);
  p = fused(p, r, 8.3334519073e-3f);
  p = fused(p, r, 4.1665795894e-2f);
  p = fused(p, r, 1.6666665459e-1f);
  p = fused(p, r, 5.0000001201e-1f);
  p = fused(p, r, 1.0f);
  p = fused(p, r, 1.0f);
  int32_t bits;
  std::memcpy(&bits, &shifted, 4);
  // Two steps, for the power of two may be one that a float cannot hold.
  const int32_t exponent = bits - 0x4B400000, half = exponent >> 1;
  return x < -87.3f ? 0.0f : p * power_of_two(half) * power_of_two(exponent - half);
}

#if defined(__AVX512F__)
// A whole number of vectors, and the rest masked: body(place, mask).
template <class Body>
inline void for_vectors(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, static_cast<__mmask16>(0xffff));
  if (i < n) body(i, static_cast<__mmask16>((1 << (n - i)) - 1));
}

// The same, with subnormal results kept.
inline __m512 exponential(__m512 x) {
  x = _mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-150.0f), x));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693145751953125f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(1.42860677e-6f), r);
  __m512 p = _mm512_set1_ps(1.9875691500e-4f);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.0f));
  return _mm512_scalef_ps(p, n);
}

inline float fold(__m512 lanes) {
  alignas(64) float all[16];
  _mm512_store_ps(all, lanes);
  for (int width = 8; width; width /= 2)
    for (int l = 0; l < width; ++l) all[l] += all[l + width];
  return all[0];
}
#endif

// row = exp(row * scale - shift), and its sum in lane_sum's order.
template <class A>
inline A exponential_row(A* row, int64_t n, A scale, A shift) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<A, float>) {
    __m512 sum = _mm512_setzero_ps();
    for_vectors(n, [&](int64_t i, __mmask16 mask) {
      const __m512 x = _mm512_maskz_loadu_ps(mask, row + i);
      const __m512 y = exponential(_mm512_fmsub_ps(x, _mm512_set1_ps(scale), _mm512_set1_ps(shift)));
      _mm512_mask_storeu_ps(row + i, mask, y);
      sum = _mm512_mask_add_ps(sum, mask, sum, y);
    });
    return fold(sum);
  }
#endif
  for (int64_t i = 0; i < n; ++i) row[i] = exponential(fused(row[i], scale, -shift));
  return lane_sum<A>(n, [=](int64_t i) { return row[i]; });
}

// Sum of exp(row - shift), in lane_sum's order.
template <class T>
inline Accumulator<T> exponential_sum(const T* row, int64_t n, Accumulator<T> shift) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>) {
    __m512 sum = _mm512_setzero_ps();
    for_vectors(n, [&](int64_t i, __mmask16 mask) {
      sum = _mm512_mask_add_ps(sum, mask, sum, exponential(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, row + i), _mm512_set1_ps(shift))));
    });
    return fold(sum);
  }
#endif
  return lane_sum<Accumulator<T>>(n, [=](int64_t i) { return exponential(load(row + i) - shift); });
}

}  // namespace skein::kernels
