// One head of one sample: where it lies, what masks it, and its keys packed for tiles. Internal to
// attention.
#pragma once

#include <limits>

#include "skein/kernels/attention.h"

#include "dropout.h"
#include "gemm.h"

namespace skein::kernels {

// Keys from `begin` on can be seen by someone; all key numbers below count from there.
template <class T>
struct Head {
  using A = Accumulator<T>;
  Strided<T> q, k, v;  // rows are positions, columns the dims of the head
  int64_t queries, keys, width, first_query, begin;
  bool causal;
  int64_t window;
  A scale;
  const int32_t *query_segments, *key_segments;  // of this sample, key_segments from `begin` on
  uint64_t dropout_key, stream, dropout_base;
  uint32_t dropout_threshold;
  A keep;

  int64_t position(int64_t query) const { return first_query + query - begin; }
  // Keys [first, last) are near enough to the query.
  int64_t first(int64_t query) const {
    return window ? std::max<int64_t>(0, position(query) - window + 1) : 0;
  }
  int64_t last(int64_t query) const {
    if (causal) return std::clamp<int64_t>(position(query) + 1, 0, keys);
    return window ? std::clamp<int64_t>(position(query) + window, 0, keys) : keys;
  }
  bool segmented() const { return key_segments; }
  bool same_segment(int64_t query, int64_t key) const {
    return key_segments[key] == query_segments[query];
  }
};

template <class T>
Strided<T> head_view(const Tensor& x, int64_t sample, int64_t head) {
  const int64_t heads = x.dim(2), width = x.dim(3);
  return {x.data<T>() + (sample * x.dim(1) * heads + head) * width, heads * width, 1};
}

template <class T>
Strided<T> from_row(const Strided<T>& x, int64_t row) {
  return {x.at(row, 0), x.row, x.column};
}

// What attention was given.
struct Attention {
  const Tensor &q, &k, &v;
  const AttentionArguments& arguments;
};

template <class T>
Head<T> make_head(const Attention& given, int64_t sample, int64_t head) {
  using A = Accumulator<T>;
  const auto& [q, k, v, arguments] = given;
  const Mask& mask = arguments.mask;
  const int64_t shared = q.dim(2) / k.dim(2), all_keys = k.dim(1), queries = q.dim(1);
  Head<T> made{};
  made.begin = mask.first_key.defined() ? mask.first_key.data<int32_t>()[sample] : 0;
  made.q = head_view<T>(q, sample, head);
  made.k = from_row(head_view<T>(k, sample, head / shared), made.begin);
  made.v = from_row(head_view<T>(v, sample, head / shared), made.begin);
  made.queries = queries;
  made.keys = std::max<int64_t>(
      0, (mask.causal ? std::min(all_keys, mask.first_query + queries) : all_keys) - made.begin);
  made.width = q.dim(3);
  made.first_query = mask.first_query;
  made.causal = mask.causal;
  made.window = mask.window;
  made.scale = A(arguments.scale);
  if (mask.key_segments.defined()) {
    made.query_segments = mask.query_segments.data<int32_t>() + sample * queries;
    made.key_segments = mask.key_segments.data<int32_t>() + sample * all_keys + made.begin;
  }
  if (arguments.dropout > 0) {
    made.dropout_key = arguments.dropout_key;
    made.stream = static_cast<uint64_t>(arguments.sample_ids.data<int64_t>()[sample]);
    made.dropout_base = (static_cast<uint64_t>(arguments.first_head + head) << kDropoutHead) +
                        static_cast<uint64_t>(made.begin);
    made.dropout_threshold = static_cast<uint32_t>(arguments.dropout * 4294967296.0);
    made.keep = A(1) / A(1 - arguments.dropout);
  }
  return made;
}

// row [count] of weights times 0 or 1 / (1 - dropout), for keys of the head from key `from` on.
template <class T>
void drop_row(const Head<T>& head, int64_t query, int64_t from, int64_t count,
              const Accumulator<T>* row, Accumulator<T>* out) {
  using A = Accumulator<T>;
  const uint64_t first = head.dropout_base + (static_cast<uint64_t>(query) << kDropoutQuery) +
                         static_cast<uint64_t>(from);
  for_dropout_factors<A>({head.dropout_key, head.stream, head.dropout_threshold}, first, count,
                         head.keep, [=](int64_t begin, int64_t end, const A* factors) {
                           for (int64_t j = begin; j < end; ++j)
                             out[j] = row[j] * factors[j - begin];
                         });
}

// Keys of a head handled together: the scores of a panel of queries with them fit the first-level
// cache, and as a left operand one block of depth.
template <class Unit, class T>
constexpr int64_t kKeyBlock = std::min<int64_t>(Tile<Accumulator<T>>::kDepthBlock,
                                                int64_t{Tile<Unit>::kDepthBlock} *
                                                    Lanes<Unit>::kDepth);

// A whole operand of depth `width`, packed in blocks of depth.
template <class Unit>
struct DeepRows {
  Unit* data;
  int64_t block;  // units from one block of depth to the next

  static DeepRows make(Scratch slot, int64_t rows, int64_t depth) {
    const int64_t block = (rows + Tile<Unit>::kRows) * Tile<Unit>::kDepthBlock;
    const int64_t blocks =
        (units<Unit>(depth) + Tile<Unit>::kDepthBlock - 1) / Tile<Unit>::kDepthBlock;
    return {scratch<Unit>(slot, blocks * block), block};
  }
};

template <class Unit, class T>
void pack_deep(const Strided<T>& x, int64_t rows, int64_t depth, const DeepRows<Unit>& out) {
  constexpr int64_t kStep = Tile<Unit>::kDepthBlock * Lanes<Unit>::kDepth;
  for (int64_t k = 0; k < depth; k += kStep)
    pack_left<Unit, T>({x.at(0, k), x.row, x.column}, rows, std::min(kStep, depth - k),
                       out.data + k / kStep * out.block);
}

// c [rows, columns] = rows from `row` on of `a`, which were packed by_row, times packed columns of
// the same depth; the depth of `size` counts elements.
template <class Unit>
void multiply_deep(const Extent& size, const DeepRows<Unit>& a, int64_t row,
                   const PackedColumns<Unit>& b, typename Tile<Unit>::Sum* c, int64_t c_row) {
  constexpr int64_t kBlock = Tile<Unit>::kDepthBlock;
  const int64_t all = units<Unit>(size.depth);
  for (int64_t k = 0; k < all; k += kBlock)
    multiply_packed<Unit, Packing::by_row>(
        {size.rows, size.columns, std::min(kBlock, all - k)},
        a.data + k / kBlock * a.block + row * kBlock,
        PackedColumns<Unit>{b.data + k * Tile<Unit>::kColumns, b.panel}, c, c_row, k > 0);
}

// Columns of `x` [depth, columns] packed for tiles.
template <class Unit>
struct Panels {
  Unit* data;
  int64_t panel;  // units from one panel to the next

  static Panels make(Scratch slot, int64_t depth, int64_t columns) {
    const int64_t panel = units<Unit>(depth) * Tile<Unit>::kColumns;
    return {
        scratch<Unit>(slot, (columns + Tile<Unit>::kColumns - 1) / Tile<Unit>::kColumns * panel),
        panel};
  }
  template <class T>
  void fill(const Strided<T>& x, int64_t depth, int64_t columns) const {
    pack_right<Unit, T>(x, depth, columns, panel, data);
  }
  // From a column that begins a panel on, or from an element of depth that begins a unit.
  PackedColumns<Unit> from_column(int64_t column) const {
    return {data + column / Tile<Unit>::kColumns * panel, panel};
  }
  PackedColumns<Unit> from_depth(int64_t element) const {
    return {data + element / Lanes<Unit>::kDepth * Tile<Unit>::kColumns, panel};
  }
};

// Of the two products with the scores that are not masked by position.
inline double attention_flops(const Tensor& q, const Tensor& k, const Mask& mask) {
  const auto queries = static_cast<double>(q.dim(1)), keys = static_cast<double>(k.dim(1));
  double scores = queries * keys;
  if (mask.causal) {
    const auto first = static_cast<double>(mask.first_query);
    const double inside = std::clamp(keys - first, 0.0, queries);
    scores = inside * (first + (inside + 1) / 2) + (queries - inside) * keys;
  }
  if (mask.window) scores = std::min(scores, queries * static_cast<double>(mask.window));
  return 4.0 * static_cast<double>(q.dim(0) * q.dim(2) * q.dim(3)) * scores;
}

template <class T>
Strided<T> transposed(const Strided<T>& x) {
  return {x.data, x.column, x.row};
}

}  // namespace skein::kernels
