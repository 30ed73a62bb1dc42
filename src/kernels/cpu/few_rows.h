// Products of a few rows with a matrix whose depth is contiguous, as in decoding: each weight is
// read once, turned in registers, and multiplied at once. The same chains as the tiles', so the
// same bits.
#pragma once

#include "pack.h"
#include "vector.h"

namespace skein::kernels {

constexpr int kFewRows = 4;

#if SKEIN_AVX512

// Sixteen units of depth from each of 16 columns, of which `columns` exist; bytes < 64 at the end
// of the depth. The next 16 columns are fetched meanwhile, so that memory is read in one stream.
template <class T>
inline void load_columns(const T* data, int64_t step, int columns, int64_t bytes,
                         __m512i (&r)[16]) {
  const auto* from = reinterpret_cast<const char*>(data);
  const int64_t row_bytes = step * static_cast<int64_t>(sizeof(T));
  if (columns == 16 && bytes >= 64) {
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __builtin_prefetch(from + (16 + i) * row_bytes, 0, 2);
      r[i] = _mm512_loadu_si512(from + i * row_bytes);
    }
    return;
  }
  const __mmask32 mask = bytes >= 64 ? ~__mmask32{0} : (__mmask32{1} << (bytes / 2)) - 1;
  for (int i = 0; i < 16; ++i)
    r[i] =
        i < columns ? _mm512_maskz_loadu_epi16(mask, from + i * row_bytes) : _mm512_setzero_si512();
}

// c [kRows, columns <= 16] = a [kRows, depth] · b [depth, columns].
template <class Unit, int kRows, class T>
SKEIN_PAIRS void multiply_columns(int columns, int64_t depth, const Strided<T>& a, const T* b,
                                  int64_t b_step, float* c, int64_t c_row) {
  using L = Lanes<Unit>;
  constexpr int64_t kStep = 16 * L::kDepth;
  Vector<float> sums[kRows] = {};
  for (int64_t k = 0; k < depth; k += kStep) {
    const int64_t bytes = (depth - k) * static_cast<int64_t>(sizeof(T));
    __m512i r[16];
    load_columns(b + k, b_step, columns, bytes, r);
    transpose_16(r);
    alignas(64) Unit tail[kRows][16] = {};
    const Unit* left[kRows];
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      left[i] = reinterpret_cast<const Unit*>(a.at(i, k));
      if (bytes >= 64) continue;
      std::memcpy(tail[i], left[i], static_cast<size_t>(bytes));
      left[i] = tail[i];
    }
#pragma GCC unroll 16
    for (int u = 0; u < 16; ++u)
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i)
        L::add_product(sums[i], L::all(left[i] + u), (typename L::Value)r[u]);
  }
  const auto mask = static_cast<__mmask16>((1 << columns) - 1);
  for (int i = 0; i < kRows; ++i) _mm512_mask_storeu_ps(c + i * c_row, mask, (__m512)sums[i]);
}

// Calls f with `rows` as a constant.
template <class F>
inline void with_rows(int64_t rows, const F& f) {
  switch (rows) {
    case 1: return f(std::integral_constant<int, 1>{});
    case 2: return f(std::integral_constant<int, 2>{});
    case 3: return f(std::integral_constant<int, 3>{});
    default: return f(std::integral_constant<int, 4>{});
  }
}

// c [rows <= kFewRows, columns] of sums; b.row is 1.
template <class Unit, class T>
void multiply_few_rows(const Extent& size, const Strided<T>& a, const Strided<T>& b, float* c,
                       int64_t c_row) {
  for (int64_t j = 0; j < size.columns; j += 16) {
    const int used = static_cast<int>(std::min<int64_t>(16, size.columns - j));
    with_rows(size.rows, [&](auto count) {
      multiply_columns<Unit, count(), T>(used, size.depth, a, b.at(0, j), b.column, c + j, c_row);
    });
  }
}

// One step of depth of 16 neighbouring columns.
template <class Unit, class T>
inline __attribute__((always_inline)) typename Lanes<Unit>::Value load_step(const T* first,
                                                                            const T* second,
                                                                            __mmask16 mask) {
  if constexpr (std::is_same_v<Unit, Pair>) {
    const __m256i low = _mm256_maskz_loadu_epi16(mask, first);
    const __m256i high = second ? _mm256_maskz_loadu_epi16(mask, second) : _mm256_setzero_si256();
    return (typename Lanes<Unit>::Value)interleave(low, high);
  } else {
    return (typename Lanes<Unit>::Value)_mm512_maskz_loadu_ps(mask, first);
  }
}

// c [kRows, columns <= 16] += a [kRows, depth], of units, · b [depth, columns], where neighbouring
// columns are neighbours in memory.
template <class Unit, int kRows, class T>
SKEIN_PAIRS void add_columns(int columns, int64_t depth, const Strided<Unit>& a,
                             const Strided<T>& b, float* c, int64_t c_row) {
  using L = Lanes<Unit>;
  const auto mask = static_cast<__mmask16>((1 << columns) - 1);
  Vector<float> sums[kRows];
  for (int i = 0; i < kRows; ++i)
    sums[i] = (Vector<float>)_mm512_maskz_loadu_ps(mask, c + i * c_row);
  for (int64_t k = 0; k < depth; k += L::kDepth) {
    const T* first = b.data + k * b.row;
    const auto right = load_step<Unit, T>(first, k + 1 < depth ? first + b.row : nullptr, mask);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i)
      L::add_product(sums[i], L::all(a.data + i * a.row + k / L::kDepth), right);
  }
  for (int i = 0; i < kRows; ++i) _mm512_mask_storeu_ps(c + i * c_row, mask, (__m512)sums[i]);
}

// c [rows <= kFewRows, columns] += a, of units, · b.
template <class Unit, class T>
void add_few_rows(const Extent& size, const Strided<Unit>& a, const Strided<T>& b, float* c,
                  int64_t c_row) {
  for (int64_t j = 0; j < size.columns; j += 16) {
    const int used = static_cast<int>(std::min<int64_t>(16, size.columns - j));
    const Strided<T> right{b.at(0, j), b.row, b.column};
    with_rows(size.rows, [&](auto count) {
      add_columns<Unit, count()>(used, size.depth, a, right, c + j, c_row);
    });
  }
}

// Whether multiply_few_rows takes the product.
template <class Unit, class T>
bool takes_few_rows(int64_t rows, const Strided<T>& a, const Strided<T>& b, bool load) {
  return !std::is_same_v<Unit, TilePair> && sizeof(Unit) == 4 &&
         sizeof(T) * Lanes<Unit>::kDepth == 4 && rows <= kFewRows && a.column == 1 && b.row == 1 &&
         b.column != 1 && !load;
}

#else

template <class Unit, class T>
bool takes_few_rows(int64_t, const Strided<T>&, const Strided<T>&, bool) {
  return false;
}

#endif

}  // namespace skein::kernels
