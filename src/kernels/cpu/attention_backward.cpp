#include "skein/core/profile.h"

#include "attention_head.h"
#include "parallel.h"

namespace skein::kernels {
namespace {

constexpr int64_t kQueryBlock = 96;  // of every tile's rows a multiple

template <class T>
void store_rows(const Accumulator<T>* from, int64_t rows, int64_t width, T* to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t d = 0; d < width; ++d) store(to + r * stride + d, from[r * width + d]);
}

// One key block against the query blocks that see it.
template <class Unit, class T>
struct Backward {
  using A = Accumulator<T>;
  using Size = Tile<Unit>;
  static constexpr int64_t kBlock = kKeyBlock<Unit, T>, kRows = Size::kRows;
  static constexpr int kDepth = Lanes<Unit>::kDepth;
  static constexpr int64_t kGranule = kDepth * Lanes<Unit>::kStep;
  const Head<T>& head;
  const A* logsumexp;
  Strided<T> out, dout;
  A *dq, *dk, *dv;                      // [queries, width], [keys, width]
  Panels<Unit> keys, values, key_rows;  // of the key block: kᵀ, vᵀ, k
  Panels<Unit> query_rows, dout_rows;   // of the query block: q, dout
  DeepRows<Unit> queries, douts;
  A *weights, *slopes, *dropped;  // [kQueryBlock, kBlock]; dropped is weights without dropout
  Unit* left;                     // one of them as left operand

  // weights = exp(scale * q kᵀ - logsumexp) where visible, else 0.
  void weights_of(int64_t query, int64_t r, int64_t from, int64_t count) const {
    A* row = weights + r * kBlock;
    const A level = logsumexp[query + r];
    const bool dead = level == -std::numeric_limits<A>::infinity();
    const int64_t first = std::clamp<int64_t>(head.first(query + r) - from, 0, count);
    const int64_t last =
        dead ? first : std::clamp<int64_t>(head.last(query + r) - from, first, count);
    std::fill(row, row + first, A(0));
    exponential_row(row + first, last - first, head.scale, level);
    std::fill(row + last, row + count, A(0));
    if (head.segmented())
      for (int64_t j = first; j < last; ++j)
        if (!head.same_segment(query + r, from + j)) row[j] = 0;
  }

  // slopes = weights * (dweights - row's sum of dout * out) * scale
  void slopes_of(int64_t query, int64_t r, int64_t from, int64_t count) const {
    const T *y = out.at(query + r, 0), *dy = dout.at(query + r, 0);
    const A level = lane_sum<A>(head.width, [=](int64_t d) { return load(y + d) * load(dy + d); });
    const A* weight = weights + r * kBlock;
    A* slope = slopes + r * kBlock;
    if (head.dropout_threshold) {
      drop_row(head, query + r, from, count, slope, slope);
      drop_row(head, query + r, from, count, weight, dropped + r * kBlock);
    }
    for (int64_t j = 0; j < count; ++j) slope[j] = weight[j] * (slope[j] - level) * head.scale;
  }

  // Columns of the block that rows query .. query + rows need.
  int64_t needed(int64_t query, int64_t rows, int64_t from, int64_t count) const {
    return std::clamp<int64_t>(head.last(query + rows - 1) - from, 0, count);
  }

  // target [count, width] += xᵀ [count, rows] · packed [rows, width], from each panel's first row
  // that sees it.
  void add_transposed(const A* x, int64_t query, int64_t rows, int64_t from, int64_t count,
                      const Panels<Unit>& packed, A* target) const {
    for (int64_t key = 0; key < count; key += kRows) {
      const int64_t used = std::min(kRows, count - key);
      int64_t skip =
          head.causal ? std::clamp<int64_t>(from + key - head.position(query), 0, rows) : 0;
      if (skip == rows) continue;
      skip = skip / kGranule * kGranule;
      pack_rounded_columns<Unit>(x + skip * kBlock + key, kBlock, rows - skip, used, left);
      constexpr Packing kTurned =
          std::is_same_v<Unit, TilePair> ? Packing::by_row : Packing::by_depth;
      multiply_packed<Unit, kTurned>({used, head.width, units<Unit>(rows - skip)}, left,
                                     packed.from_depth(skip), target + (from + key) * head.width,
                                     head.width, true);
    }
  }

  void query_block(int64_t query, int64_t rows, int64_t from, int64_t count) const {
    pack_deep<Unit, T>(from_row(head.q, query), rows, head.width, queries);
    pack_deep<Unit, T>(from_row(dout, query), rows, head.width, douts);
    query_rows.fill(from_row(head.q, query), rows, head.width);
    dout_rows.fill(from_row(dout, query), rows, head.width);
    for (int64_t r = 0; r < rows; r += kRows) {
      const int64_t used = std::min(kRows, rows - r),
                    columns = needed(query + r, used, from, count);
      const Extent size{used, columns, head.width};
      multiply_deep<Unit>(size, queries, r, keys.from_column(0), weights + r * kBlock, kBlock);
      multiply_deep<Unit>(size, douts, r, values.from_column(0), slopes + r * kBlock, kBlock);
      for (int64_t i = r; i < r + used; ++i) {
        weights_of(query, i, from, columns);
        slopes_of(query, i, from, columns);
        std::fill(dropped + i * kBlock + columns, dropped + i * kBlock + count, A(0));
        std::fill(slopes + i * kBlock + columns, slopes + i * kBlock + count, A(0));
      }
      if (columns) add_queries(query + r, used, columns, slopes + r * kBlock);
    }
    add_transposed(dropped, query, rows, from, count, dout_rows, dv);
    add_transposed(slopes, query, rows, from, count, query_rows, dk);
  }

  // dq [rows, width] += slopes [rows, columns] · k
  void add_queries(int64_t query, int64_t rows, int64_t columns, const A* x) const {
    const Unit* operand;
    if constexpr (std::is_same_v<Unit, A>) {
      operand = x;
    } else {
      for (int64_t r = 0; r < rows; ++r)
        pack_rounded(x + r * kBlock, columns, left + r * Size::kDepthBlock);
      operand = left;
    }
    multiply_packed<Unit, Packing::by_row>({rows, head.width, units<Unit>(columns)}, operand,
                                           key_rows.from_depth(0), dq + query * head.width,
                                           head.width, true);
  }

  void key_block(int64_t from) const {
    const int64_t count = std::min(kBlock, head.keys - from);
    keys.fill(transposed(from_row(head.k, from)), head.width, count);
    values.fill(transposed(from_row(head.v, from)), head.width, count);
    key_rows.fill(from_row(head.k, from), count, head.width);
    for (int64_t query = 0; query < head.queries; query += kQueryBlock) {
      const int64_t rows = std::min(kQueryBlock, head.queries - query);
      if (needed(query, rows, from, count) == 0 || head.first(query) >= from + count) continue;
      query_block(query, rows, from, count);
    }
  }
};

template <class Unit, class T>
Backward<Unit, T> make_backward(const Head<T>& head, const Accumulator<T>* logsumexp,
                                const Strided<T>& out, const Strided<T>& dout, Accumulator<T>* dq,
                                Accumulator<T>* dk, Accumulator<T>* dv) {
  using A = Accumulator<T>;
  using B = Backward<Unit, T>;
  const int64_t width = head.width, block = std::min(B::kBlock, head.keys),
                rows = std::min(kQueryBlock, head.queries);
  A* weights = scratch<A>(Scratch::scores, kQueryBlock * B::kBlock);
  return {head,
          logsumexp,
          out,
          dout,
          dq,
          dk,
          dv,
          Panels<Unit>::make(Scratch::keys, width, block),
          Panels<Unit>::make(Scratch::values, width, block),
          Panels<Unit>::make(Scratch::key_rows, block, width),
          Panels<Unit>::make(Scratch::query_rows, rows, width),
          Panels<Unit>::make(Scratch::dout_rows, rows, width),
          DeepRows<Unit>::make(Scratch::queries, rows, width),
          DeepRows<Unit>::make(Scratch::douts, rows, width),
          weights,
          scratch<A>(Scratch::slopes, kQueryBlock * B::kBlock),
          head.dropout_threshold ? scratch<A>(Scratch::dropped, kQueryBlock * B::kBlock) : weights,
          scratch<Unit>(Scratch::packed_left, Tile<Unit>::kRows * Tile<Unit>::kDepthBlock)};
}

struct Gradients {
  const Tensor &dout, &dq, &dk, &dv;
};

// All query heads of one key head, in order, so that dk and dv have one order of summation.
template <class Unit, class T>
void backward_group(const AttentionRecord& forward, const AttentionArguments& arguments,
                    const Gradients& g, int64_t sample, int64_t group) {
  using A = Accumulator<T>;
  const Tensor &q = forward.q, &k = forward.k;
  const Attention given{q, k, forward.v, arguments};
  const int64_t heads = q.dim(2), shared = heads / k.dim(2), keys = k.dim(1), queries = q.dim(1),
                width = k.dim(3);
  A* sums = scratch<A>(Scratch::gradients, (2 * keys + queries) * width);
  A *dk_sum = sums, *dv_sum = sums + keys * width, *dq_sum = sums + 2 * keys * width;
  std::fill(sums, dq_sum, A(0));
  int64_t begin = 0;
  for (int64_t h = group * shared; h < (group + 1) * shared; ++h) {
    std::fill(dq_sum, dq_sum + queries * width, A(0));
    const Head<T> head = make_head<T>(given, sample, h);
    begin = head.begin;
    const auto backward = make_backward<Unit, T>(
        head, forward.logsumexp.data<A>() + (sample * heads + h) * queries,
        head_view<T>(forward.out, sample, h), head_view<T>(g.dout, sample, h), dq_sum,
        dk_sum + begin * width, dv_sum + begin * width);
    for (int64_t from = 0; from < head.keys; from += kKeyBlock<Unit, T>) backward.key_block(from);
    store_rows<T>(dq_sum, queries, width, const_cast<T*>(head_view<T>(g.dq, sample, h).data),
                  head.q.row);
  }
  const auto dk_view = head_view<T>(g.dk, sample, group),
             dv_view = head_view<T>(g.dv, sample, group);
  store_rows<T>(dk_sum, keys, width, const_cast<T*>(dk_view.data), dk_view.row);
  store_rows<T>(dv_sum, keys, width, const_cast<T*>(dv_view.data), dv_view.row);
}

}  // namespace

void attention_backward(Cpu, const AttentionRecord& forward, const AttentionArguments& arguments,
                        const Tensor& dout, Out dq, Out dk, Out dv) {
  const Tensor &q = forward.q, &k = forward.k;
  const Span span("attention backward", 2.5 * attention_flops(q, k, arguments.mask));
  const Gradients gradients{dout, *dq, *dk, *dv};
  const int64_t groups = k.dim(2);
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    visit_unit<T>([&]<class Unit>(TypeTag<Unit>) {
      parallel_ranges(q.dim(0) * groups, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          backward_group<Unit, T>(forward, arguments, gradients, i / groups, i % groups);
      });
    });
  });
}

}  // namespace skein::kernels
