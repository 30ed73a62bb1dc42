// Loads and stores through the accumulator type, fixed-lane sums, and functions the compiler can
// vectorise.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "skein/tensor/dtype.h"

#include "simd.h"

namespace skein::kernels {

template <class T>
inline Accumulator<T> load(const T* p) {
  return static_cast<Accumulator<T>>(*p);
}
template <class T>
inline void store(T* p, Accumulator<T> value) {
  *p = static_cast<T>(value);
}

// Sixteen lanes summed in a fixed order.
template <class Sum>
inline Sum fold(Sum (&lanes)[16]) {
  for (int width = 8; width; width /= 2)
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  return lanes[0];
}

// Sum over i < n of f(i) kept in 16 lanes that are folded in a fixed order, so that the compiler
// may use vectors of any width and the bits stay.
template <class Sum, class F>
inline Sum lane_sum(int64_t n, const F& f) {
  constexpr int kLanes = 16;
  Sum lanes[kLanes] = {};
  const int64_t whole = n / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
  for (int64_t i = whole; i < n; ++i) lanes[i - whole] += f(i);
  return fold(lanes);
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

// exp(x) for x at most 0, to a few units in the last place; 0 below -708. A Taylor series around a
// multiple of ln 2, without branches, so that a loop over it runs in lanes.
inline double falling_exponential(double x) {
  constexpr double kHalves = 0x1.8p52, kLog2E = 0x1.71547652b82fep+0, kHigh = 0x1.62e42fefa3800p-1,
                   kLow = 0x1.ef35793c76730p-45;
  const double bounded = std::max(x, -708.0), rounded = bounded * kLog2E + kHalves,
               whole = rounded - kHalves;
  const double r = bounded - whole * kHigh - whole * kLow;
  double sum = 1.0 / 479001600;
  for (double factorial :
       {39916800.0, 3628800.0, 362880.0, 40320.0, 5040.0, 720.0, 120.0, 24.0, 6.0, 2.0, 1.0, 1.0})
    sum = sum * r + 1 / factorial;
  const auto scale = std::bit_cast<double>((std::bit_cast<int64_t>(rounded) + 1023) << 52);
  return x < -708 ? 0 : sum * scale;
}

template <class To, class From>
inline To bits_of(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  std::memcpy(&bits, &value, sizeof(To));
  return bits;
}

// c[0] + x (c[1] + x (c[2] + …)) on numbers or vectors.
template <class V, class A, int n>
inline V polynomial(V x, const A (&c)[n]) {
  V sum = c[n - 1] - V{};
#pragma GCC unroll 16
  for (int k = n - 2; k >= 0; --k) sum = fused(sum, x, c[k] - V{});
  return sum;
}

// Coefficients of Moshier's Cephes for exp over half a power of two to each side.
inline constexpr float kExponential[] = {1.0f,
                                         1.0f,
                                         5.0000001201e-1f,
                                         1.6666665459e-1f,
                                         4.1665795894e-2f,
                                         8.3334519073e-3f,
                                         1.3981999507e-3f,
                                         1.9875691500e-4f};

// Cody-Waite reduction and a polynomial; within 2 ulp over the normal range, 0 below it. V: float
// or vectors of it, I: as many int32_t.
template <class V, class I>
inline V exponential_of(V x) {
  const V bounded = x > 89.0f ? V{} + 89.0f : x;
  const V shifted = fused(bounded, V{} + 1.44269504f, V{} + 12582912.0f);
  const V n = shifted - 12582912.0f;
  const V r = fused(n, V{} - 1.42860677e-6f, fused(n, V{} - 0.693145751953125f, bounded));
  const V p = polynomial(r, kExponential);
  // Two steps, for the power of two may be one that a float cannot hold.
  const I exponent = bits_of<I>(shifted) - 0x4B400000, half = exponent >> 1;
  const V result = p * bits_of<V>((half + 127) << 23) * bits_of<V>((exponent - half + 127) << 23);
  return x < -87.3f ? V{} : result;
}

inline float exponential(float x) { return exponential_of<float, int32_t>(x); }

#if defined(__AVX512F__)
// A whole number of vectors, and the rest masked: body(index, mask).
template <class Body>
inline void for_vectors(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, static_cast<__mmask16>(0xffff));
  if (i < n) body(i, static_cast<__mmask16>((1 << (n - i)) - 1));
}

// The same, with subnormal results kept.
inline __m512 exponential(__m512 x) {
  x = _mm512_min_ps(_mm512_set1_ps(89.0f), _mm512_max_ps(_mm512_set1_ps(-150.0f), x));
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)),
                                        _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693145751953125f), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(1.42860677e-6f), r);
  return _mm512_scalef_ps((__m512)polynomial((Vector<float>)r, kExponential), n);
}

inline float fold(__m512 lanes) {
  alignas(64) float all[16];
  _mm512_store_ps(all, lanes);
  return fold(all);
}
#endif

#if !defined(__AVX512F__)
inline Vector<float> exponential(Vector<float> x) {
  return exponential_of<Vector<float>, Vector<int32_t>>(x);
}
#endif

template <class F>
inline Vector<double> each_lane(Vector<double> x, const F& f) {
  for (size_t l = 0; l < sizeof(x) / sizeof(double); ++l) x[l] = f(x[l]);
  return x;
}
inline Vector<double> exponential(Vector<double> x) {
  return each_lane(x, [](double v) { return std::exp(v); });
}

// erf(x) / x as a polynomial of x² up to 1 and log(1 - erf(x)) as one of x beyond, both fitted for
// the least largest error; within 3 ulp.
template <class V>
inline V error_function(V x) {
  if constexpr (std::is_same_v<Lane<V>, double>) {
    return each_lane(x, [](double v) { return std::erf(v); });
  } else {
    static constexpr float kNear[] = {1.1283791065e+0f,  -3.7612625957e-1f, 1.1283585429e-1f,
                                      -2.6853810996e-2f, 5.1883272827e-3f,  -8.0101913773e-4f,
                                      7.8538541857e-5f};
    static constexpr float kFar[] = {1.7812231090e-4f,  -1.1295273304e+0f, -6.3333284855e-1f,
                                     -1.0827845335e-1f, 2.5101736188e-2f,  -4.1537638754e-3f,
                                     4.2650161777e-4f,  -1.9262088245e-5f, -1.6979301165e-7f};
    const V size = x < 0 ? -x : x, bounded = size > 4 ? V{} + 4 : size;
    const V far = 1 - exponential(polynomial(bounded, kFar));
    return size < 1 ? x * polynomial<V>(x * x, kNear) : x < 0 ? -far : size >= 1 ? far : x;
  }
}

// row = exp(row * scale - shift), and its sum in lane_sum's order.
template <class A>
inline A exponential_row(A* row, int64_t n, A scale, A shift) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<A, float>) {
    __m512 sum = _mm512_setzero_ps();
    for_vectors(n, [&](int64_t i, __mmask16 mask) {
      const __m512 x = _mm512_maskz_loadu_ps(mask, row + i);
      const __m512 y =
          exponential(_mm512_fmsub_ps(x, _mm512_set1_ps(scale), _mm512_set1_ps(shift)));
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
      sum = _mm512_mask_add_ps(
          sum, mask, sum,
          exponential(_mm512_sub_ps(_mm512_maskz_loadu_ps(mask, row + i), _mm512_set1_ps(shift))));
    });
    return fold(sum);
  }
#endif
  return lane_sum<Accumulator<T>>(n, [=](int64_t i) { return exponential(load(row + i) - shift); });
}

}  // namespace skein::kernels
