// Copies of operands in the order in which tiles read them.
#pragma once

#include <algorithm>

#include "tile.h"

namespace skein::kernels {

// A matrix seen through two strides (in elements).
template <class T>
struct Strided {
  const T* data;
  int64_t row, column;
  const T* at(int64_t i, int64_t j) const { return data + i * row + j * column; }
};

template <class Unit>
constexpr int64_t units(int64_t depth) {
  using L = Lanes<Unit>;
  constexpr int64_t kGranule = L::kDepth * L::kStep;
  return (depth + kGranule - 1) / kGranule * L::kStep;
}

#if SKEIN_AVX512
// Takes 0 16 1 17 … of two times 16 elements.
alignas(64) inline constexpr uint16_t kInterleaved[32] = {
    0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
    8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
inline __m512i interleave(__m256i low, __m256i high) {
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved),
                                  _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1));
}
#endif

// One step of depth for `used` of kWidth neighbouring columns; the rest becomes zero. second: the
// next row of depth for Pairs, or null at an odd end.
template <class Unit, int kWidth, class T>
inline void pack_step(const T* first, const T* second, int64_t used, Unit* out) {
  if constexpr (kPairs<Unit>) {
    int64_t j = 0;
#if SKEIN_AVX512
    for (; j < kWidth; j += 16) {
      const auto mask = static_cast<__mmask16>(used - j >= 16 ? 0xffff
                                               : used <= j    ? 0
                                                              : (1 << (used - j)) - 1);
      const auto stored =
          static_cast<__mmask16>(kWidth - j >= 16 ? 0xffff : (1 << (kWidth - j)) - 1);
      const __m256i low = _mm256_maskz_loadu_epi16(mask, first + j);
      const __m256i high =
          second ? _mm256_maskz_loadu_epi16(mask, second + j) : _mm256_setzero_si256();
      _mm512_mask_storeu_epi32(out + j, stored, interleave(low, high));
    }
#endif
    for (; j < kWidth; ++j)
      out[j] = {j < used ? first[j] : BFloat16{}, j < used && second ? second[j] : BFloat16{}};
  } else {
    if (used >= kWidth) {
      for (int j = 0; j < kWidth; ++j) out[j] = static_cast<Unit>(first[j]);
    } else {
      for (int64_t j = 0; j < used; ++j) out[j] = static_cast<Unit>(first[j]);
      for (int64_t j = used; j < kWidth; ++j) out[j] = 0;
    }
  }
}

// Rows of memory that panels are packed from at a time: their lines stay in the first-level cache,
// of any stride, until all panels have taken their parts of them.
constexpr int64_t kRowsOfLines = 8;

// Neighbouring columns [depth, used] in panels [units][kWidth].
template <class Unit, int kWidth, class T>
void pack_neighbours(const T* data, int64_t depth_step, int64_t depth, int64_t used, Unit* out) {
  constexpr int kDepth = Lanes<Unit>::kDepth;
  for (int64_t k = 0; k < depth; k += kDepth, out += kWidth) {
    const T* first = data + k * depth_step;
    pack_step<Unit, kWidth, T>(first, k + 1 < depth ? first + depth_step : nullptr, used, out);
  }
  std::fill_n(out, (units<Unit>(depth) - (depth + kDepth - 1) / kDepth) * kWidth, Unit{});
}

// One row's depth, as it lies in memory; an odd end is filled up with zero.
template <class Unit, class T>
inline void pack_row(const T* row, int64_t depth, Unit* out) {
  if constexpr (std::is_same_v<Unit, T>) {
    std::memcpy(out, row, static_cast<size_t>(depth) * sizeof(T));
  } else if constexpr (kPairs<Unit>) {
    if (depth % 2) out[depth / 2] = Unit{};
    std::memcpy(out, row, static_cast<size_t>(depth) * sizeof(T));
    std::fill(out + (depth + 1) / 2, out + units<Unit>(depth), Unit{});
  } else {
    for (int64_t k = 0; k < depth; ++k) out[k] = static_cast<Unit>(row[k]);
  }
}

#if SKEIN_AVX512
// Sixteen rows of sixteen four-byte units become their columns.
inline __attribute__((always_inline)) void transpose_16(__m512i (&r)[16]) {
  __m512i t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      r[i + 2 * j] = _mm512_unpacklo_epi64(t[i + j], t[i + j + 2]);
      r[i + 2 * j + 1] = _mm512_unpackhi_epi64(t[i + j], t[i + j + 2]);
    }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 8)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      t[i + j] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0x88);
      t[i + j + 4] = _mm512_shuffle_i32x4(r[i + j], r[i + j + 4], 0xdd);
    }
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    r[j] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0x88);
    r[j + 8] = _mm512_shuffle_i32x4(t[j], t[j + 8], 0xdd);
  }
}

// Fetches the next 16 rows meanwhile, so that memory is read in one stream.
// Up to 16 rows of up to 64 bytes: out[k * out_bytes + 4 j] = unit k of row j.
inline void transpose_block(const char* data, int64_t row_bytes, int rows, int64_t bytes, char* out,
                            int64_t out_bytes) {
  __m512i r[16];
  if (rows == 16 && bytes == 64) {
    for (int i = 0; i < 16; ++i) {
      __builtin_prefetch(data + (16 + i) * row_bytes, 0, 2);
      r[i] = _mm512_loadu_si512(data + i * row_bytes);
    }
    transpose_16(r);
    for (int k = 0; k < 16; ++k) _mm512_store_si512(out + k * out_bytes, r[k]);
    return;
  }
  const __mmask32 mask = bytes >= 64 ? ~__mmask32{0} : (__mmask32{1} << (bytes / 2)) - 1;
  for (int i = 0; i < 16; ++i)
    r[i] = i < rows ? _mm512_maskz_loadu_epi16(mask, data + i * row_bytes) : _mm512_setzero_si512();
  transpose_16(r);
  for (int64_t k = 0; k < (bytes + 3) / 4; ++k) _mm512_store_si512(out + k * out_bytes, r[k]);
}
#endif

// Columns whose depth is contiguous, [used] rows of data `column_step` apart, in a panel
// [units][kWidth].
template <class Unit, int kWidth, class T>
void pack_transposed(const T* data, int64_t column_step, int64_t depth, int64_t used, Unit* out) {
  constexpr int kDepth = Lanes<Unit>::kDepth;
#if SKEIN_AVX512
  if constexpr (sizeof(Unit) == 4 && sizeof(T) * kDepth == 4 && kWidth % 16 == 0) {
    constexpr int64_t kStep = 16 * kDepth;
    for (int64_t j = 0; j < kWidth; j += 16)
      for (int64_t k = 0; k < depth; k += kStep)
        transpose_block(reinterpret_cast<const char*>(data + j * column_step + k),
                        column_step * static_cast<int64_t>(sizeof(T)),
                        static_cast<int>(std::clamp<int64_t>(used - j, 0, 16)),
                        std::min(kStep, depth - k) * static_cast<int64_t>(sizeof(T)),
                        reinterpret_cast<char*>(out + k / kDepth * kWidth + j), kWidth * 4);
    std::fill(out + (depth + kDepth - 1) / kDepth * kWidth, out + units<Unit>(depth) * kWidth,
              Unit{});
    return;
  }
#endif
  for (int64_t j = 0; j < kWidth; ++j)
    for (int64_t k = 0; k < depth; k += kDepth) {
      const T* source = data + j * column_step + k;
      Unit& unit = out[k / kDepth * kWidth + j];
      if constexpr (kPairs<Unit>)
        unit = {j < used ? source[0] : BFloat16{},
                j < used && k + 1 < depth ? source[1] : BFloat16{}};
      else
        unit = j < used ? static_cast<Unit>(*source) : Unit(0);
    }
}

#if SKEIN_AVX512
// Rows out [columns][kDepthBlock] of depth from columns, as AMX wants its left operand: pairs_at(k,
// j, used) gives elements k and k + 1 of depth of columns j .. j + used in Pairs.
template <class PairsAt>
SKEIN_PAIRS inline void turn_columns(int64_t depth, int64_t columns, TilePair* out,
                                     const PairsAt& pairs_at) {
  for (int64_t j = 0; j < columns; j += 16)
    for (int64_t k = 0; k < depth; k += 32) {
      const int64_t used = std::min<int64_t>(16, columns - j);
      __m512i r[16];
      for (int u = 0; u < 16; ++u) r[u] = pairs_at(k + 2 * u, j, used);
      transpose_16(r);
      for (int64_t i = 0; i < used; ++i)
        _mm512_storeu_si512(out + (j + i) * Tile<TilePair>::kDepthBlock + k / 2, r[i]);
    }
}

// The same of 32 rows of depth, `step` elements apart, and 32 columns: whole cache lines.
inline void turn_square(const BFloat16* data, int64_t step, TilePair* out) {
  alignas(64) static constexpr uint16_t kUpper[32] = {16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21,
                                                      53, 22, 54, 23, 55, 24, 56, 25, 57, 26, 58,
                                                      27, 59, 28, 60, 29, 61, 30, 62, 31, 63};
  alignas(64) static constexpr uint16_t kLower[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                      37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                      11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  const __m512i lower = _mm512_load_si512(kLower), upper = _mm512_load_si512(kUpper);
  __m512i first[16], second[16];
#pragma GCC unroll 16
  for (int u = 0; u < 16; ++u) {
    const __m512i low = _mm512_loadu_si512(data + 2 * u * step),
                  high = _mm512_loadu_si512(data + (2 * u + 1) * step);
    first[u] = _mm512_permutex2var_epi16(low, lower, high);
    second[u] = _mm512_permutex2var_epi16(low, upper, high);
  }
  transpose_16(first);
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(out + i * Tile<TilePair>::kDepthBlock, first[i]);
  transpose_16(second);
  for (int i = 0; i < 16; ++i)
    _mm512_storeu_si512(out + (16 + i) * Tile<TilePair>::kDepthBlock, second[i]);
}

// A row of sums as left operand: rounded, the rest of the units filled up with zero.
template <class Unit>
SKEIN_PAIRS void pack_rounded(const float* row, int64_t depth, Unit* out) {
  for (int64_t k = 0; k < 2 * units<Unit>(depth); k += 16) {
    const int64_t left = std::max<int64_t>(0, depth - k), stored = 2 * units<Unit>(depth) - k;
    const auto used = static_cast<__mmask16>(left >= 16 ? 0xffff : (1 << left) - 1);
    const auto rounded = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(used, row + k));
    _mm256_mask_storeu_epi16(
        out + k / 2, static_cast<__mmask16>(stored >= 16 ? 0xffff : (1 << stored) - 1), rounded);
  }
}

// Elements of `used` columns at k and k + 1, rounded to Pairs; `step` from one k to the next.
SKEIN_PAIRS inline __m512i rounded_pairs(const float* first, int64_t step, int64_t k, int64_t depth,
                                         int64_t used) {
  const auto read = static_cast<__mmask16>((1 << used) - 1);
  const __m512 low = k < depth ? _mm512_maskz_loadu_ps(read, first) : _mm512_setzero_ps();
  const __m512 high =
      k + 1 < depth ? _mm512_maskz_loadu_ps(read, first + step) : _mm512_setzero_ps();
  return _mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved),
                                  (__m512i)_mm512_cvtne2ps_pbh(high, low));
}
#endif

// Neighbouring columns [depth, used <= kRows] of sums as left operand.
template <class Unit>
SKEIN_PAIRS Packing pack_rounded_columns(const typename Tile<Unit>::Sum* data, int64_t depth_step,
                                         int64_t depth, int64_t used, Unit* out) {
  constexpr int kWidth = Tile<Unit>::kRows;
#if SKEIN_AVX512
  if constexpr (std::is_same_v<Unit, TilePair>) {
    turn_columns(depth, used, out, [=](int64_t k, int64_t j, int64_t columns) {
      return rounded_pairs(data + k * depth_step + j, depth_step, k, depth, columns);
    });
    return Packing::by_row;
  } else if constexpr (std::is_same_v<Unit, Pair>) {
    for (int64_t k = 0; k < depth; k += 2, out += kWidth)
      _mm512_mask_storeu_epi32(out, (1 << kWidth) - 1,
                               rounded_pairs(data + k * depth_step, depth_step, k, depth, used));
    return Packing::by_depth;
  }
#endif
  if constexpr (!kPairs<Unit>)
    pack_neighbours<Unit, kWidth, Unit>(data, depth_step, depth, used, out);
  return Packing::by_depth;
}

// b [depth, columns] in panels of kColumns, `panel` units apart.
template <class Unit, class T>
void pack_right(const Strided<T>& b, int64_t depth, int64_t columns, int64_t panel, Unit* out) {
  constexpr int kWidth = Tile<Unit>::kColumns;
  for (int64_t j = 0; j < columns; j += kWidth, out += panel) {
    const int64_t used = std::min<int64_t>(kWidth, columns - j);
    if (b.column == 1)
      pack_neighbours<Unit, kWidth, T>(b.at(0, j), b.row, depth, used, out);
    else
      pack_transposed<Unit, kWidth, T>(b.at(0, j), b.column, depth, used, out);
  }
}

// a [rows, depth] in panels of kRows, whichever way its memory runs along; depth is at most
// kDepthBlock units.
template <class Unit, class T>
Packing pack_left(const Strided<T>& a, int64_t rows, int64_t depth, Unit* out) {
  using Size = Tile<Unit>;
  if (a.column == 1) {
    for (int64_t i = 0; i < rows; ++i)
      pack_row<Unit, T>(a.at(i, 0), depth, out + i * Size::kDepthBlock);
    return Packing::by_row;
  }
#if SKEIN_AVX512
  if constexpr (std::is_same_v<Unit, TilePair>) {
    const int64_t whole = depth % 32 ? 0 : rows / 32 * 32;
    // Along the columns first, as memory runs.
    for (int64_t k = 0; k < depth; k += 32)
      for (int64_t i = 0; i < whole; i += 32)
        turn_square(a.at(i, k), a.column, out + i * Size::kDepthBlock + k / 2);
    turn_columns(depth, rows - whole, out + whole * Size::kDepthBlock,
                 [&, whole](int64_t k, int64_t j, int64_t used) {
                   const int64_t i = whole + j;
                   const auto mask = static_cast<__mmask16>((1 << used) - 1);
                   const __m256i low = k < depth ? _mm256_maskz_loadu_epi16(mask, a.at(i, k))
                                                 : _mm256_setzero_si256();
                   const __m256i high = k + 1 < depth
                                            ? _mm256_maskz_loadu_epi16(mask, a.at(i, k + 1))
                                            : _mm256_setzero_si256();
                   return interleave(low, high);
                 });
    return Packing::by_row;
  }
#endif
  for (int64_t k = 0; k < depth; k += kRowsOfLines)
    for (int64_t i = 0; i < rows; i += Size::kRows)
      pack_neighbours<Unit, Size::kRows, T>(
          a.at(i, k), a.column, std::min(kRowsOfLines, depth - k),
          std::min<int64_t>(Size::kRows, rows - i),
          out + i * Size::kDepthBlock + k / Lanes<Unit>::kDepth * Size::kRows);
  return Packing::by_depth;
}

}  // namespace skein::kernels
