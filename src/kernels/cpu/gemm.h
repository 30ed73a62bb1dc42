// One thread's matrix product: blocks that fit the caches around the tiles. Internal to the CPU kernels.
#pragma once

#include "pack.h"
#include "vector.h"

namespace skein::kernels {

template <class C, class A>
void store_strip(const A* strip, int64_t strip_row, int64_t rows, int64_t columns, C* c, int64_t c_row) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) store(c + i * c_row + j, strip[i * strip_row + j]);
}

// c [rows, columns] = a [rows, depth] · b [depth, columns], or += when load. One of a's and one of b's strides is 1.
// Where C is not the type of the sums they are kept in a strip and rounded once.
template <class Unit, class C, class Left, class Right>
void multiply(int64_t rows, int64_t columns, int64_t depth, const Strided<Left>& a, const Strided<Right>& b, C* c,
              int64_t c_row, bool load) {
  using Size = Tile<Unit>;
  using Sum = typename Size::Sum;
  constexpr bool kStrip = !std::is_same_v<C, Sum>;
  constexpr int kDepth = Lanes<Unit>::kDepth;
  constexpr int64_t kBlock = Size::kDepthBlock * kDepth, kFar = 8 * kBlock;
  constexpr int64_t kColumnBlock = Size::kColumns * 12, kRowBlock = Size::kRows * 8;
  const int64_t near = std::min(depth, kFar), panel = units<Unit>(near) * Size::kColumns;
  const int64_t strip_rows = depth > kFar ? rows : std::min(rows, kRowBlock);
  const int64_t panels = (std::min(columns, kColumnBlock) + Size::kColumns - 1) / Size::kColumns;
  Unit* packed_b = scratch<Unit>(Scratch::packed_right, panels * panel);
  Unit* packed_a = scratch<Unit>(Scratch::packed_left, (std::min(rows, kRowBlock) + Size::kRows) * Size::kDepthBlock);
  Sum* strip = kStrip ? scratch<Sum>(Scratch::strip, strip_rows * kColumnBlock) : nullptr;
  for (int64_t j = 0; j < columns; j += kColumnBlock) {
    const int64_t n = std::min(kColumnBlock, columns - j);
    for (int64_t far = 0; far < depth; far += kFar) {
      const int64_t far_depth = std::min(kFar, depth - far);
      pack_right<Unit, Right>({b.at(far, j), b.row, b.column}, far_depth, n, panel, packed_b);
      for (int64_t i = 0; i < rows; i += kRowBlock) {
        const int64_t m = std::min(kRowBlock, rows - i);
        Sum* target;
        if constexpr (kStrip) target = strip + (depth > kFar ? i * kColumnBlock : 0);
        else target = c + i * c_row + j;
        const int64_t target_row = kStrip ? kColumnBlock : c_row;
        for (int64_t k = 0; k < far_depth; k += kBlock) {
          const int64_t d = std::min(kBlock, far_depth - k);
          const Packing packing = pack_left<Unit, Left>({a.at(i, far + k), a.row, a.column}, m, d, packed_a);
          const bool add = (load && !kStrip) || far + k > 0;
          const Unit* block = packed_b + k / kDepth * Size::kColumns;
          if (packing == Packing::by_row)
            multiply_packed<Unit, Packing::by_row>(m, n, units<Unit>(d), packed_a, block, panel, target, target_row, add);
          else
            multiply_packed<Unit, Packing::by_depth>(m, n, units<Unit>(d), packed_a, block, panel, target, target_row, add);
        }
        if constexpr (kStrip)
          if (far + far_depth == depth) store_strip(target, target_row, m, n, c + i * c_row + j, c_row);
      }
    }
  }
}

}  // namespace skein::kernels
