// The tile of a matrix product and the packing around it. Internal to the CPU kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "vector.h"

namespace skein::kernels {

// A matrix seen through two strides (in elements).
template <class T>
struct Strided {
  const T* data;
  int64_t row, column;
  const T* at(int64_t i, int64_t j) const { return data + i * row + j * column; }
};

template <class A>
struct Tile {
  static constexpr int kVectorBytes = __BIGGEST_ALIGNMENT__;
  static constexpr int kLanes = kVectorBytes / sizeof(A);
  static constexpr int kVectors = 2;
  static constexpr int kRows = kVectorBytes == 64 ? 12 : kVectorBytes == 32 ? 6 : 4;
  static constexpr int kColumns = kVectors * kLanes;
  typedef A Vector __attribute__((vector_size(kVectorBytes)));
};

// c [kRows, kColumns] = packed_a [depth, kRows]ᵀ · packed_b [depth, kColumns], or += when kLoad.
template <bool kLoad, class A>
inline void multiply_tile(int64_t depth, const A* packed_a, const A* packed_b, A* c, int64_t c_row) {
  using T = Tile<A>;
  using Vector = typename T::Vector;
  Vector sums[T::kRows][T::kVectors] = {};
  if constexpr (kLoad) {
#pragma GCC unroll 16
    for (int i = 0; i < T::kRows; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < T::kVectors; ++v) std::memcpy(&sums[i][v], c + i * c_row + v * T::kLanes, sizeof(Vector));
  }
  for (int64_t k = 0; k < depth; ++k) {
    Vector b[T::kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < T::kVectors; ++v) std::memcpy(&b[v], packed_b + v * T::kLanes, sizeof(Vector));
#pragma GCC unroll 16
    for (int i = 0; i < T::kRows; ++i) {
      const Vector a = packed_a[i] - Vector{};
#pragma GCC unroll 4
      for (int v = 0; v < T::kVectors; ++v) sums[i][v] += a * b[v];
    }
    packed_a += T::kRows;
    packed_b += T::kColumns;
  }
#pragma GCC unroll 16
  for (int i = 0; i < T::kRows; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < T::kVectors; ++v) std::memcpy(c + i * c_row + v * T::kLanes, &sums[i][v], sizeof(Vector));
}

// Scratch that grows once and is kept by the thread.
template <class A>
A* scratch(int slot, int64_t elements) {
  thread_local std::vector<A> held[8];
  auto& wanted = held[slot];
  if (static_cast<int64_t>(wanted.size()) < elements) wanted.resize(elements);
  return wanted.data();
}

// Packs columns of `b` [depth, count] into panels of kColumns, the last one padded with zeros.
template <class A, class T>
void pack_columns(const Strided<T>& b, int64_t depth, int64_t count, int width, A* packed) {
  for (int64_t first = 0; first < count; first += width) {
    const int64_t used = std::min<int64_t>(width, count - first);
    A* panel = packed + first * depth;
    if (b.column == 1) {
      for (int64_t k = 0; k < depth; ++k) {
        const T* source = b.at(k, first);
        for (int64_t j = 0; j < used; ++j) panel[k * width + j] = static_cast<A>(source[j]);
        for (int64_t j = used; j < width; ++j) panel[k * width + j] = 0;
      }
    } else {
      for (int64_t j = 0; j < width; ++j)
        for (int64_t k = 0; k < depth; ++k)
          panel[k * width + j] = j < used ? static_cast<A>(*b.at(k, first + j)) : A(0);
    }
  }
}

// One tile of c through a full-sized copy: for edges, and for element types that are not the accumulator's.
template <class C, class A>
void multiply_edge(int64_t depth, const A* a, const A* b, C* c, int64_t c_row, int64_t rows, int64_t columns, bool load) {
  using T = Tile<A>;
  alignas(64) A tile[T::kRows * T::kColumns] = {};
  if (load)
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < columns; ++j) tile[i * T::kColumns + j] = static_cast<A>(c[i * c_row + j]);
  multiply_tile<true, A>(depth, a, b, tile, T::kColumns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) c[i * c_row + j] = static_cast<C>(tile[i * T::kColumns + j]);
}

template <class C, class A>
void multiply_packed(int64_t rows, int64_t columns, int64_t depth, const A* packed_a, const A* packed_b, C* c,
                     int64_t c_row, bool load) {
  using T = Tile<A>;
  for (int64_t j = 0; j < columns; j += T::kColumns)
    for (int64_t i = 0; i < rows; i += T::kRows) {
      const A *a = packed_a + i * depth, *b = packed_b + j * depth;
      C* target = c + i * c_row + j;
      if constexpr (std::is_same_v<C, A>) {
        if (i + T::kRows <= rows && j + T::kColumns <= columns) {
          if (load) multiply_tile<true, A>(depth, a, b, target, c_row);
          else multiply_tile<false, A>(depth, a, b, target, c_row);
          continue;
        }
      }
      multiply_edge<C, A>(depth, a, b, target, c_row, std::min<int64_t>(T::kRows, rows - i),
                          std::min<int64_t>(T::kColumns, columns - j), load);
    }
}

// One thread's product: c [rows, columns] = a [rows, depth] · b [depth, columns], or += when load.
// When C is not the accumulator type the depth is not blocked, so that sums are rounded once.
template <class C, class A, class Left, class Right>
void multiply(int64_t rows, int64_t columns, int64_t depth, const Strided<Left>& a, const Strided<Right>& b, C* c,
              int64_t c_row, bool load) {
  using Size = Tile<A>;
  constexpr int64_t kDepthBlock = 384, kColumnBlock = Size::kColumns * 12, kRowBlock = Size::kRows * 16;
  const int64_t depth_block = std::is_same_v<C, A> ? std::min(depth, kDepthBlock) : depth;
  A* packed_b = scratch<A>(0, depth_block * (std::min(columns, kColumnBlock) + Size::kColumns));
  A* packed_a = scratch<A>(1, depth_block * (std::min(rows, kRowBlock) + Size::kRows));
  for (int64_t k = 0; k < depth; k += depth_block) {
    const int64_t d = std::min(depth_block, depth - k);
    for (int64_t j = 0; j < columns; j += kColumnBlock) {
      const int64_t n = std::min(kColumnBlock, columns - j);
      pack_columns<A, Right>({b.at(k, j), b.row, b.column}, d, n, Size::kColumns, packed_b);
      for (int64_t i = 0; i < rows; i += kRowBlock) {
        const int64_t m = std::min(kRowBlock, rows - i);
        pack_columns<A, Left>({a.at(i, k), a.column, a.row}, d, m, Size::kRows, packed_a);
        multiply_packed<C, A>(m, n, d, packed_a, packed_b, c + i * c_row + j, c_row, load || k > 0);
      }
    }
  }
}

}  // namespace skein::kernels
