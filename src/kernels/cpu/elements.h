// Elementwise work on whole vectors: elements are read as their accumulator type and rounded once
// on store. Internal to the CPU kernels.
#pragma once

#include "parallel.h"
#include "vector.h"

namespace skein::kernels {

template <class T>
using Elements = Vector<Accumulator<T>>;
template <class T>
constexpr int64_t kElements = kVectorBytes / static_cast<int>(sizeof(Accumulator<T>));

typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
typedef uint32_t Words __attribute__((vector_size(kVectorBytes)));

// Half precision has instructions from AVX2 on.
inline Vector<float> from_halves(const Float16* p) {
#if SKEIN_AVX512
  return (Vector<float>)_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__F16C__) && defined(__AVX2__)
  return (Vector<float>)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  Vector<float> made;
  for (int64_t l = 0; l < kElements<Float16>; ++l) made[l] = static_cast<float>(p[l]);
  return made;
#endif
}

inline void to_halves(Float16* p, Vector<float> v) {
#if SKEIN_AVX512
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtps_ph((__m512)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#elif defined(__F16C__) && defined(__AVX2__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                   _mm256_cvtps_ph((__m256)v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
#else
  for (int64_t l = 0; l < kElements<Float16>; ++l) p[l] = Float16(v[l]);
#endif
}

template <class T>
inline Elements<T> load_elements(const T* p) {
  if constexpr (std::is_same_v<T, Float16>) {
    return from_halves(p);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const auto bits = load_vector<Halves>(p);
#if SKEIN_AVX512
    return (Elements<T>)_mm512_slli_epi32(_mm512_cvtepu16_epi32((__m256i)bits), 16);
#else
    return (Elements<T>)(__builtin_convertvector(bits, Words) << 16);
#endif
  } else {
    return load_vector<Elements<T>>(p);
  }
}

// Rounds as BFloat16 does; a NaN loses its sign and payload.
template <class T>
inline void store_elements(T* p, Elements<T> v) {
  if constexpr (std::is_same_v<T, Float16>) {
    to_halves(p, v);
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    const Words word = (Words)v, rounded = (word + 0x7fffu + (word >> 16 & 1u)) >> 16;
#if SKEIN_AVX512
    const __m512i kept = _mm512_mask_mov_epi32(
        (__m512i)rounded, _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q),
        _mm512_set1_epi32(0x7fc0));
    const __m256i bits = _mm512_cvtepi32_epi16(kept);
#else
    const Halves bits = __builtin_convertvector(v == v ? rounded : Words{} + 0x7fc0u, Halves);
#endif
    std::memcpy(p, &bits, sizeof(bits));
  } else {
    std::memcpy(p, &v, sizeof(v));
  }
}

// A whole vector at i.
struct WholeVector {
  int64_t i;
  template <class T>
  Elements<T> load(const T* p) const {
    return load_elements(p + i);
  }
  template <class T>
  void store(T* p, Elements<T> v) const {
    store_elements(p + i, v);
  }
  template <class V>
  V keep(V v) const {
    return v;
  }
};

// The n elements at i, too few for a vector; the lanes behind them read zero and are not stored.
struct PartVector {
  int64_t i, n;
  template <class T>
  Elements<T> load(const T* p) const {
    T part[kElements<T>] = {};
    std::memcpy(part, p + i, static_cast<size_t>(n) * sizeof(T));
    return load_elements(part);
  }
  template <class T>
  void store(T* p, Elements<T> v) const {
    T part[kElements<T>];
    store_elements(part, v);
    std::memcpy(p + i, part, static_cast<size_t>(n) * sizeof(T));
  }
  // Zero in the lanes behind the n.
  template <class V>
  V keep(V v) const {
    for (size_t l = static_cast<size_t>(n); l < sizeof(V) / sizeof(v[0]); ++l) v[l] = 0;
    return v;
  }
};

// Calls body(at) for the vectors of [begin, end): at.load(pointer), at.store(pointer, value). An
// element's bits do not depend on where it stands.
template <class T, class Body>
inline void for_lanes(int64_t begin, int64_t end, const Body& body) {
  int64_t i = begin;
  for (; i + kElements<T> <= end; i += kElements<T>) body(WholeVector{i});
  if (i < end) body(PartVector{i, end - i});
}

// Sum over [0, n) of f(at), in lane_sum's order at any width of vectors.
template <class T, class F>
inline Accumulator<T> sum_lanes(int64_t n, const F& f) {
  constexpr int64_t kLanes = 16, kVectors = kLanes / kElements<T>;
  Elements<T> sums[kVectors] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
#pragma GCC unroll 4
    for (int64_t v = 0; v < kVectors; ++v) sums[v] += f(WholeVector{i + v * kElements<T>});
  for (int64_t v = 0; i < n; ++v, i += kElements<T>) {
    const PartVector rest{i, std::min(kElements<T>, n - i)};
    sums[v] += rest.keep(f(rest));
  }
  Accumulator<T> lanes[kLanes];
  std::memcpy(lanes, sums, sizeof(lanes));
  return fold(lanes);
}

template <class T, class Body>
void for_elements(int64_t count, const Body& body) {
  parallel_ranges(count, kElementGrain,
                  [&](int64_t begin, int64_t end) { for_lanes<T>(begin, end, body); });
}

}  // namespace skein::kernels
