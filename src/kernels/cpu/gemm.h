// One thread's matrix product: blocks that fit the caches around the tiles. Internal to the CPU
// kernels. Invariants:
//
// An element of c is one chain over the depth, from its beginning to its end: every block and tile
// goes on with the sum that the one before it stored, in the type of sums. So its bits depend on
// the depth and the unit alone: threads, row blocks and column blocks may cut rows and columns
// anywhere, and nobody cuts the depth into sums of their own. A C of another type is rounded once,
// after the last block of depth, when bias and activation come in, too.
//
// Packed operands are filled up with zeros to whole tiles. Of c only what exists is written.
//
// What is packed, and the strip, lie in this thread's scratch memory, one slot each: a thread is in
// one product at a time. Panels that are `ready` belong to the weight's PackedCopies and are only
// read.
#pragma once

#include "activations.h"
#include "pack.h"

namespace skein::kernels {

// Bias and activation of a product, as pointers to what belongs to its first element; rows are c's.
template <class C>
struct Epilogue {
  const C* bias = nullptr;
  C* activated = nullptr;
  Activation activation = Activation::gelu_tanh;
  bool streamed = false;  // past the caches, for products that these would not hold
  explicit operator bool() const { return bias || activated; }
  Epilogue at(int64_t offset, int64_t column) const {
    return {bias ? bias + column : nullptr, activated ? activated + offset : nullptr, activation,
            streamed};
  }
};

#if SKEIN_AVX512
// Whole cache lines of a row into c, which begins one; returns how many columns those were. The
// caller fences.
SKEIN_PAIRS inline int64_t stream_row(const float* sums, int64_t columns, const BFloat16* bias,
                                      BFloat16* c) {
  if (reinterpret_cast<uintptr_t>(c) % 64) return 0;
  const auto sum_at = [=](int64_t j) SKEIN_PAIRS {
    const __m512 x = _mm512_loadu_ps(sums + j);
    return bias ? _mm512_add_ps(x, (__m512)_mm512_slli_epi32(
                                       _mm512_cvtepu16_epi32(_mm256_loadu_epi16(bias + j)), 16))
                : x;
  };
  int64_t j = 0;
  for (; j + 32 <= columns; j += 32)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(c + j),
                        (__m512i)_mm512_cvtne2ps_pbh(sum_at(j + 16), sum_at(j)));
  return j;
}
#endif

// A row of sums, with its bias, into c; rounded by the unit that multiplies Pairs where that made
// the sums.
template <class Unit, class Sum, class C>
SKEIN_PAIRS inline void store_row(const Sum* sums, int64_t columns, const C* bias, C* c,
                                  [[maybe_unused]] bool streamed) {
#if SKEIN_AVX512
  if constexpr (kPairs<Unit> && std::is_same_v<C, BFloat16>) {
    const int64_t done = streamed ? stream_row(sums, columns, bias, c) : 0;
    if (done == columns) return;
    for_vectors(columns - done, [=](int64_t i, __mmask16 mask) SKEIN_PAIRS {
      const int64_t j = done + i;
      __m512 x = _mm512_maskz_loadu_ps(mask, sums + j);
      if (bias)
        x = _mm512_add_ps(x,
                          (__m512)_mm512_slli_epi32(
                              _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, bias + j)), 16));
      _mm256_mask_storeu_epi16(c + j, mask, (__m256i)_mm512_cvtneps_pbh(x));
    });
    return;
  }
#endif
  for_lanes<C>(0, columns,
               [=](auto at) { at.store(c, bias ? at.load(sums) + at.load(bias) : at.load(sums)); });
}

// Rows of sums, strip_row apart, into c.
template <class Unit, class Sum, class C>
void store_strip(const Sum* strip, int64_t strip_row, int64_t rows, int64_t columns, C* c,
                 int64_t c_row, const Epilogue<C>& end) {
  for (int64_t i = 0; i < rows; ++i)
    store_row<Unit>(strip + i * strip_row, columns, end.bias, c + i * c_row, end.streamed);
#if SKEIN_AVX512
  if (end.streamed) _mm_sfence();
#endif
  if (!end.activated) return;
  with_activation<Elements<C>>(end.activation, [&](auto f) {
    for (int64_t i = 0; i < rows; ++i)
      for_lanes<C>(0, columns, [=, from = c + i * c_row, to = end.activated + i * c_row](auto at) {
        at.store(to, f(at.load(from)));
      });
  });
}

// c [rows, columns], its rows c_row apart, = a [rows, depth] · b [depth, columns], or += when load.
// One of a's and one of b's strides is 1.
template <class C, class T>
struct Product {
  Extent size;
  Strided<T> a, b;
  C* c;
  int64_t c_row;
  bool load;
  Epilogue<C> end;

  // Of `rows` of its rows and `columns` of its columns, from row i and column j on.
  Product part(int64_t i, int64_t j, int64_t rows, int64_t columns) const {
    const int64_t offset = i * c_row + j;
    return {{rows, columns, size.depth},
            {a.at(i, 0), a.row, a.column},
            {b.at(0, j), b.row, b.column},
            c + offset,
            c_row,
            load,
            end.at(offset, j)};
  }
};

// One thread's product. Where C is not the type of the sums they are kept in a strip and rounded
// once.
//
// Around the tiles: column blocks of `b`, `far` of the depth at a time, meet row blocks of `a`,
// which are packed just before, a block of the depth at a time, and so are still in the
// second-level cache; few rows are packed once for all columns. Columns that are packed already
// (`ready`, in panels of the whole depth) are read where they lie.
template <class Unit, class C, class T>
class Multiplication {
 public:
  // ready: null where columns are to be packed.
  Multiplication(const Product<C, T>& product, const Unit* ready)
      : rows_(product.size.rows),
        columns_(product.size.columns),
        depth_(product.size.depth),
        a_(product.a),
        b_(product.b),
        c_(product.c),
        c_row_(product.c_row),
        load_(product.load),
        ready_(ready),
        end_(product.end) {
    const int64_t near = std::min(depth_, kFar), rows = std::min(rows_, rows_at_once());
    panel_ = units<Unit>(ready ? depth_ : near) * Size::kColumns;
    const int64_t panels = (std::min(columns_, kColumnBlock) + Size::kColumns - 1) / Size::kColumns;
    if (!ready) packed_b_ = scratch<Unit>(Scratch::packed_right, panels * panel_);
    once_ = rows_ <= kRowBlock && depth_ <= kFar;
    packed_a_ = scratch<Unit>(Scratch::packed_left,
                              (once_ ? (near + kBlock - 1) / kBlock : 1) * kPackedBlock);
    if (kStrip)
      strip_ = scratch<Sum>(Scratch::strip,
                            (depth_ > kFar ? rows : std::min(rows, kRowBlock)) * kColumnBlock);
  }

  void run() {
    if (once_)
      for (int64_t k = 0; k < depth_; k += kBlock)
        pack_rows(0, rows_, k, packed_a_ + k / kBlock * kPackedBlock);
    for (int64_t i = 0; i < rows_; i += rows_at_once()) {
      const int64_t m = std::min(rows_at_once(), rows_ - i);
      for (int64_t j = 0; j < columns_; j += kColumnBlock) {
        const int64_t n = std::min(kColumnBlock, columns_ - j);
        for (int64_t far = 0; far < depth_; far += kFar) {
          const Unit* right = pack_columns(j, n, far);
          for (int64_t r = 0; r < m; r += kRowBlock)
            multiply_block(i, r, std::min(kRowBlock, m - r), j, n, far, right);
        }
      }
    }
  }

 private:
  using Size = Tile<Unit>;
  using Sum = typename Size::Sum;
  static constexpr bool kStrip = !std::is_same_v<C, Sum>;
  static constexpr int kDepth = Lanes<Unit>::kDepth;
  static constexpr int64_t kBlock = Size::kDepthBlock * kDepth,
                           kFar = (std::is_same_v<Unit, TilePair> ? 4 : 8) * kBlock;
  static constexpr int64_t kColumnBlock = Size::kColumns * 12, kRowBlock = Size::kRows * 8;
  static constexpr int64_t kPackedBlock = (kRowBlock + Size::kRows) * Size::kDepthBlock;

  // Rows that meet a column block one after another: all of them, but where a strip waits for the
  // next part of the depth, as many as the caches hold.
  int64_t rows_at_once() const { return kStrip && depth_ > kFar ? 16 * kRowBlock : rows_; }

  void pack_rows(int64_t i, int64_t m, int64_t k, Unit* out) {
    packing_ =
        pack_left<Unit, T>({a_.at(i, k), a_.row, a_.column}, m, std::min(kBlock, depth_ - k), out);
  }

  // What is packed after rows i .. i + m at element k of the depth's part from `far` on.
  Runs packed_after(int64_t i, int64_t m, int64_t far, int64_t k) const {
    if (once_) return {};
    k += kBlock;
    if (k >= std::min(far + kFar, depth_)) {
      k = far;
      i = i + m < rows_ ? i + m : 0;
    }
    constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
    const int64_t rows = std::min(kRowBlock, rows_ - i), depth = std::min(kBlock, depth_ - k);
    const auto* data = reinterpret_cast<const char*>(a_.at(i, k));
    if (a_.column == 1) return {data, rows, depth * kBytes, a_.row * kBytes};
    return {data, depth, rows * kBytes, a_.column * kBytes};
  }

  const Unit* pack_columns(int64_t j, int64_t n, int64_t far) {
    if (ready_) return ready_ + j / Size::kColumns * panel_ + far / kDepth * Size::kColumns;
    pack_right<Unit, T>({b_.at(far, j), b_.row, b_.column}, std::min(kFar, depth_ - far), n, panel_,
                        packed_b_);
    return packed_b_;
  }

  // Whether columns come from memory and meet a few tiles of rows each, as when many sequences
  // decode.
  bool streams() const { return ready_ && packing_ == Packing::by_row && rows_ <= kRowBlock; }
  // What is read after the last of n packed columns: from element k of the depth on, or, from 0, of
  // the columns that follow.
  const Unit* after(const Unit* packed, int64_t k, int64_t n) const {
    return k > 0 ? packed + k / kDepth * Size::kColumns : packed + n / Size::kColumns * panel_;
  }

  // Rows i + r .. of c, columns j .. j + n, and `far` of the depth.
  void multiply_block(int64_t i, int64_t r, int64_t m, int64_t j, int64_t n, int64_t far,
                      const Unit* packed) {
    Sum* target;
    if constexpr (kStrip)
      target = strip_ + (depth_ > kFar ? r * kColumnBlock : 0);
    else
      target = c_ + (i + r) * c_row_ + j;
    const int64_t target_row = kStrip ? kColumnBlock : c_row_, d = std::min(kFar, depth_ - far);
    for (int64_t k = 0; k < d; k += kBlock) {
      const bool add = (load_ && !kStrip) || far + k > 0;
      const Unit* left = packed_a_ + (once_ ? k / kBlock * kPackedBlock : 0);
      if (!once_) pack_rows(i + r, m, far + k, packed_a_);
      const PackedColumns<Unit> right{packed + k / kDepth * Size::kColumns, panel_};
      const Extent size{m, n, units<Unit>(std::min(kBlock, d - k))};
      if constexpr (!std::is_same_v<Unit, TilePair>)
        if (streams()) {
          multiply_streamed<Unit>(size, left, right, target, target_row, add,
                                  after(packed, k + kBlock < d ? k + kBlock : 0, n));
          continue;
        }
      const Runs soon = packed_after(i + r, m, far, far + k);
      if (packing_ == Packing::by_row)
        multiply_packed<Unit, Packing::by_row>(size, left, right, target, target_row, add, soon);
      else
        multiply_packed<Unit, Packing::by_depth>(size, left, right, target, target_row, add, soon);
    }
    if (far + d < depth_ || !(kStrip || end_)) return;
    const int64_t offset = (i + r) * c_row_ + j;
    store_strip<Unit>(target, target_row, m, n, c_ + offset, c_row_, end_.at(offset, j));
  }

  int64_t rows_, columns_, depth_;
  Strided<T> a_, b_;
  C* c_;
  int64_t c_row_;
  bool load_;
  const Unit* ready_;
  Epilogue<C> end_;
  Packing packing_ = Packing::by_row;
  int64_t panel_ = 0;
  bool once_ = false;
  Unit *packed_a_ = nullptr, *packed_b_ = nullptr;
  Sum* strip_ = nullptr;
};

}  // namespace skein::kernels
