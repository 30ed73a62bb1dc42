// The innermost product: a few rows times two vectors of columns, all sums in registers.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "amx.h"

namespace skein::kernels {

// The sizes of a product of a [rows, depth] and b [depth, columns]; of packed operands depth counts
// units.
struct Extent {
  int64_t rows, columns, depth;
};

template <class Unit>
struct Tile {
  using Sum = typename Lanes<Unit>::Sum;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(Sum));
  static constexpr int kVectors = 2;
  static constexpr int kColumns = kVectors * kLanes;
  static constexpr int kRows = std::is_same_v<Unit, TilePair> ? 32
                               : kVectorBytes == 64           ? 12
                               : kVectorBytes == 32           ? 6
                                                              : 4;
  // Units of depth in one packed block: the rows of a tile fit the first-level cache, on AMX with
  // the panel that they meet.
  static constexpr int kDepthBlock =
      std::is_same_v<Unit, TilePair> ? kAmxRow : 1536 / static_cast<int>(sizeof(Unit));
};

// How packed rows lie: by_row [kRows][kDepthBlock] as depth lies in memory, by_depth
// [kDepthBlock][kRows].
enum class Packing { by_row, by_depth };

// Units of a cache line.
template <class Unit>
constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(Unit));

// Columns of b in panels of kColumns, `panel` units apart.
template <class Unit>
struct PackedColumns {
  const Unit* data;
  int64_t panel;
};

// c [kUsed, kColumns] = a · b over `depth` units, or += when load. a: packed rows; b:
// [depth][kColumns]. kFetches: a line of what stands at `ahead` comes into the caches for each
// unit.
template <class Unit, Packing kPacking, int kUsed, bool kFetches>
SKEIN_PAIRS __attribute__((noinline)) void multiply_tile(int64_t depth, const Unit* a,
                                                         const Unit* b, typename Tile<Unit>::Sum* c,
                                                         int64_t c_row, bool load,
                                                         [[maybe_unused]] PrefetchRange ahead) {
  using T = Tile<Unit>;
  using L = Lanes<Unit>;
  using Sums = Vector<typename T::Sum>;
  constexpr int kRowStep = kPacking == Packing::by_row ? T::kDepthBlock : 1;
  constexpr int kDepthStep = kPacking == Packing::by_row ? 1 : T::kRows;
  Sums sums[kUsed][T::kVectors] = {};
  if (load) {
#pragma GCC unroll 16
    for (int i = 0; i < kUsed; ++i)
#pragma GCC unroll 4
      for (int v = 0; v < T::kVectors; ++v)
        sums[i][v] = load_vector<Sums>(c + i * c_row + v * T::kLanes);
  }
  [[maybe_unused]] const char* fetched = static_cast<const char*>(ahead.begin);
  [[maybe_unused]] int64_t due = 0;  // lines, times depth
  for (int64_t k = 0; k < depth; ++k) {
    typename L::Value right[T::kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < T::kVectors; ++v)
      right[v] = load_vector<typename L::Value>(b + v * T::kLanes);
    if constexpr (kFetches)
      for (due += ahead.lines; due >= depth; due -= depth) {
        __builtin_prefetch(fetched, 0, 2);
        fetched += 64;
      }
#pragma GCC unroll 16
    for (int i = 0; i < kUsed; ++i) {
      const auto left = L::all(a + i * kRowStep);
#pragma GCC unroll 4
      for (int v = 0; v < T::kVectors; ++v) L::add_product(sums[i][v], left, right[v]);
    }
    a += kDepthStep;
    b += T::kColumns;
  }
#pragma GCC unroll 16
  for (int i = 0; i < kUsed; ++i)
#pragma GCC unroll 4
    for (int v = 0; v < T::kVectors; ++v)
      std::memcpy(c + i * c_row + v * T::kLanes, &sums[i][v], sizeof(Sums));
}

template <class Unit>
using TileFunction = void (*)(int64_t, const Unit*, const Unit*, typename Tile<Unit>::Sum*, int64_t,
                              bool, PrefetchRange);

// The function for 1 <= rows <= kRows.
template <class Unit, Packing kPacking, bool kFetches>
TileFunction<Unit> tile_of(int rows) {
  static constexpr auto functions = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileFunction<Unit>, sizeof...(i)>{
        &multiply_tile<Unit, kPacking, i + 1, kFetches>...};
  }
  (std::make_integer_sequence<int, Tile<Unit>::kRows>{});
  return functions[static_cast<size_t>(rows - 1)];
}

// What AMX should find in the caches after the tile of rows i and columns j: the next panel where
// each is met once, else a share of the rows that follow.
inline PrefetchRange ahead_of(int64_t i, int64_t j, const Extent& size, const TilePair* left,
                              const TilePair* right, int64_t panel) {
  using T = Tile<TilePair>;
  if (size.rows <= T::kRows)
    return {right + panel,
            j + T::kColumns < size.columns ? size.depth * T::kColumns / kLine<TilePair> : 0};
  if (i + T::kRows >= size.rows) return {};
  const int64_t panels = (size.columns + T::kColumns - 1) / T::kColumns,
                share = (T::kRows * T::kDepthBlock / kLine<TilePair> + panels - 1) / panels;
  return {left + T::kRows * T::kDepthBlock + j / T::kColumns * share * kLine<TilePair>, share};
}

// Calls multiply(to, to_row) with memory for whole tiles: c itself, or where it has fewer columns,
// or `whole` is false, what is copied from there and back.
template <class Unit, class Multiply>
inline void with_whole_tile(const Extent& used, bool whole, typename Tile<Unit>::Sum* c,
                            int64_t c_row, bool load, const Multiply& multiply) {
  using T = Tile<Unit>;
  if (whole && used.columns >= T::kColumns) return multiply(c, c_row);
  alignas(64) typename T::Sum edge[T::kRows * T::kColumns];
  const auto bytes = static_cast<size_t>(used.columns < T::kColumns ? used.columns : T::kColumns) *
                     sizeof(edge[0]);
  if (load)
    for (int64_t r = 0; r < used.rows; ++r)
      std::memcpy(edge + r * T::kColumns, c + r * c_row, bytes);
  multiply(edge, T::kColumns);
  for (int64_t r = 0; r < used.rows; ++r) std::memcpy(c + r * c_row, edge + r * T::kColumns, bytes);
}

// Runs of memory that are read soon, `step` bytes apart.
struct Runs {
  const char* data = nullptr;
  int64_t count = 0, bytes = 0, step = 0;
  // Brings a share of them into the second-level cache.
  void fetch(int64_t part, int64_t parts) const {
    for (int64_t run = count * part / parts; run < count * (part + 1) / parts; ++run)
      for (int64_t at = 0; at < bytes; at += 64) __builtin_prefetch(data + run * step + at, 0, 2);
  }
};

// c [rows, columns], its rows c_row apart, = the product of packed rows (in panels of kRows) and
// packed columns, or += when load; whole panels of c are written when columns is a multiple of
// kColumns. soon: what is fetched meanwhile.
template <class Unit, Packing kPacking>
void multiply_packed(const Extent& size, const Unit* a, const PackedColumns<Unit>& b,
                     typename Tile<Unit>::Sum* c, int64_t c_row, bool load, const Runs& soon = {}) {
  using T = Tile<Unit>;
  const int64_t rows = size.rows, columns = size.columns;
  constexpr bool kAmx = std::is_same_v<Unit, TilePair>;
  AmxTile on_amx = nullptr;
  if constexpr (kAmx) on_amx = begin_amx_tiles();
  const int64_t tiles =
      (rows + T::kRows - 1) / T::kRows * ((columns + T::kColumns - 1) / T::kColumns);
  int64_t done = 0;
  for (int64_t i = 0; i < rows; i += T::kRows) {
    const int used = static_cast<int>(rows - i < T::kRows ? rows - i : T::kRows);
    // AMX writes whole tiles only.
    const bool whole = !kAmx || used == T::kRows;
    const Unit* left = a + i * T::kDepthBlock;
    for (int64_t j = 0; j < columns; j += T::kColumns) {
      typename T::Sum* target = c + i * c_row + j;
      const Unit* right = b.data + j / T::kColumns * b.panel;
      soon.fetch(done, tiles);
      ++done;
      const auto multiply = [&](typename T::Sum* to, int64_t to_row) {
        if constexpr (kAmx)
          on_amx(size.depth, left, right, to, to_row, load,
                 ahead_of(i, j, size, left, right, b.panel));
        else
          tile_of<Unit, kPacking, false>(used)(size.depth, left, right, to, to_row, load, {});
      };
      with_whole_tile<Unit>({used, columns - j, size.depth}, whole, target, c_row, load, multiply);
    }
  }
}

// The same of rows packed by_row, for columns that come from memory once: panel by panel. While the
// rows meet one, the next is fetched, so that memory and units work at the same time. after: what
// is read behind the last panel. Not for AMX.
template <class Unit>
void multiply_streamed(const Extent& size, const Unit* a, const PackedColumns<Unit>& b,
                       typename Tile<Unit>::Sum* c, int64_t c_row, bool load, const Unit* after) {
  using T = Tile<Unit>;
  const int64_t tiles = (size.rows + T::kRows - 1) / T::kRows,
                lines = size.depth * T::kColumns / kLine<Unit>, share = (lines + tiles - 1) / tiles;
  for (int64_t j = 0; j < size.columns; j += T::kColumns) {
    const Unit* right = b.data + j / T::kColumns * b.panel;
    const Unit* ahead = j + T::kColumns < size.columns ? right + b.panel : after;
    for (int64_t i = 0; i < size.rows; i += T::kRows, ahead += share * kLine<Unit>) {
      const int64_t used = std::min<int64_t>(T::kRows, size.rows - i);
      const auto tile = tile_of<Unit, Packing::by_row, true>(static_cast<int>(used));
      with_whole_tile<Unit>(
          {used, size.columns - j, size.depth}, true, c + i * c_row + j, c_row, load,
          [&](typename T::Sum* to, int64_t to_row) {
            tile(size.depth, a + i * T::kDepthBlock, right, to, to_row, load, {ahead, share});
          });
    }
  }
}

}  // namespace skein::kernels
