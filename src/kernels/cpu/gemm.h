// One thread's matrix product: blocks that fit the caches around the tiles. Internal to the CPU kernels.
#pragma once

#include "pack.h"
#include "vector.h"

namespace skein::kernels {

// Rounds a strip of sums into c.
template <class Unit, class C, class A>
SKEIN_PAIRS void store_strip(const A* strip, int64_t strip_row, int64_t rows, int64_t columns, C* c, int64_t c_row) {
#if SKEIN_AVX512
  if constexpr (kPairs<Unit> && std::is_same_v<C, BFloat16>) {
    for (int64_t i = 0; i < rows; ++i)
      for_vectors(columns, [&](int64_t j, __mmask16 mask) SKEIN_PAIRS {
        const auto rounded = (__m256i)_mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(mask, strip + i * strip_row + j));
        _mm256_mask_storeu_epi16(c + i * c_row + j, mask, rounded);
      });
    return;
  }
#endif
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) store(c + i * c_row + j, strip[i * strip_row + j]);
}

// One thread's product: c [rows, columns] = a [rows, depth] · b [depth, columns], or += when load. One of a's and one of b's
// strides is 1. Where C is not the type of the sums they are kept in a strip and rounded once.
//
// Around the tiles: rows of `a` are packed kRowsAtOnce at a time and meet column blocks of `b` that the second-level cache
// holds, `far` of the depth at a time.
template <class Unit, class C, class Left, class Right>
class Multiplication {
 public:
  Multiplication(int64_t rows, int64_t columns, int64_t depth, const Strided<Left>& a, const Strided<Right>& b, C* c, int64_t c_row,
                 bool load)
      : rows_(rows), columns_(columns), depth_(depth), a_(a), b_(b), c_(c), c_row_(c_row), load_(load) {
    const int64_t near = std::min(depth, kFar), packed_rows = std::min(rows, rows_at_once());
    panel_ = units<Unit>(near) * Size::kColumns;
    const int64_t panels = (std::min(columns, kColumnBlock) + Size::kColumns - 1) / Size::kColumns;
    packed_b_ = scratch<Unit>(Scratch::packed_right, panels * panel_);
    block_ = (packed_rows + Size::kRows) * Size::kDepthBlock;
    packed_a_ = scratch<Unit>(Scratch::packed_left, (near + kBlock - 1) / kBlock * block_);
    if (kStrip) strip_ = scratch<Sum>(Scratch::strip, (depth > kFar ? packed_rows : std::min(packed_rows, kRowBlock)) * kColumnBlock);
  }

  void run() {
    const bool once = depth_ <= kFar;
    for (int64_t i = 0; i < rows_; i += rows_at_once()) {
      const int64_t m = std::min(rows_at_once(), rows_ - i);
      if (once) pack_rows(i, m, 0);
      for (int64_t j = 0; j < columns_; j += kColumnBlock) {
        const int64_t n = std::min(kColumnBlock, columns_ - j);
        for (int64_t far = 0; far < depth_; far += kFar) {
          if (!once) pack_rows(i, m, far);
          pack_right<Unit, Right>({b_.at(far, j), b_.row, b_.column}, std::min(kFar, depth_ - far), n, panel_, packed_b_);
          for (int64_t r = 0; r < m; r += kRowBlock) multiply_block(i, r, std::min(kRowBlock, m - r), j, n, far);
        }
      }
    }
  }

 private:
  using Size = Tile<Unit>;
  using Sum = typename Size::Sum;
  static constexpr bool kStrip = !std::is_same_v<C, Sum>;
  static constexpr int kDepth = Lanes<Unit>::kDepth;
  static constexpr int64_t kBlock = Size::kDepthBlock * kDepth, kFar = 8 * kBlock;
  static constexpr int64_t kColumnBlock = Size::kColumns * 12, kRowBlock = Size::kRows * 8;
  static constexpr int64_t kPackedBytes = 8 << 20;

  // As many as kPackedBytes hold.
  int64_t rows_at_once() const {
    const int64_t blocks = (std::min(depth_, kFar) + kBlock - 1) / kBlock;
    const int64_t fitting = kPackedBytes / (blocks * Size::kDepthBlock * static_cast<int64_t>(sizeof(Unit)));
    return std::max<int64_t>(kRowBlock, fitting / kRowBlock * kRowBlock);
  }

  void pack_rows(int64_t i, int64_t m, int64_t far) {
    const int64_t d = std::min(kFar, depth_ - far);
    for (int64_t k = 0; k < d; k += kBlock)
      packing_ = pack_left<Unit, Left>({a_.at(i, far + k), a_.row, a_.column}, m, std::min(kBlock, d - k), packed_a_ + k / kBlock * block_);
  }

  // Rows i + r .. of c, columns j .. j + n, and `far` of the depth.
  void multiply_block(int64_t i, int64_t r, int64_t m, int64_t j, int64_t n, int64_t far) {
    Sum* target;
    if constexpr (kStrip) target = strip_ + (depth_ > kFar ? r * kColumnBlock : 0);
    else target = c_ + (i + r) * c_row_ + j;
    const int64_t target_row = kStrip ? kColumnBlock : c_row_, d = std::min(kFar, depth_ - far);
    for (int64_t k = 0; k < d; k += kBlock) {
      const bool add = (load_ && !kStrip) || far + k > 0;
      const Unit *left = packed_a_ + k / kBlock * block_ + r * Size::kDepthBlock, *right = packed_b_ + k / kDepth * Size::kColumns;
      const int64_t near = units<Unit>(std::min(kBlock, d - k));
      if (packing_ == Packing::by_row) multiply_packed<Unit, Packing::by_row>(m, n, near, left, right, panel_, target, target_row, add);
      else multiply_packed<Unit, Packing::by_depth>(m, n, near, left, right, panel_, target, target_row, add);
    }
    if constexpr (kStrip)
      if (far + d == depth_) store_strip<Unit>(target, target_row, m, n, c_ + (i + r) * c_row_ + j, c_row_);
  }

  int64_t rows_, columns_, depth_;
  Strided<Left> a_;
  Strided<Right> b_;
  C* c_;
  int64_t c_row_;
  bool load_;
  Packing packing_ = Packing::by_row;
  int64_t panel_ = 0, block_ = 0;
  Unit *packed_a_ = nullptr, *packed_b_ = nullptr;
  Sum* strip_ = nullptr;
};

template <class Unit, class C, class Left, class Right>
void multiply(int64_t rows, int64_t columns, int64_t depth, const Strided<Left>& a, const Strided<Right>& b, C* c,
              int64_t c_row, bool load) {
  Multiplication<Unit, C, Left, Right>(rows, columns, depth, a, b, c, c_row, load).run();
}

}  // namespace skein::kernels
