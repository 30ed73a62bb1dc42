// Softmax online over blocks of keys: Dao and others, "FlashAttention" (2022), with the rows of a
// tile as its block. Invariants:
//
// After each block a query's row of `sums` is the weighted sum of the values seen so far, and `sum`
// that of the weights, both by exp(score - largest); a new maximum shrinks both. Dropout takes from
// the weights of values, never from `sum`. While nothing was visible, largest is -inf, both are 0.
//
// Keys are counted from the first that anyone may see (Head::begin), and blocks begin at multiples
// of kBlock of these. A block in which a query sees nothing changes nothing of its row. So the bits
// of a row depend on its query and on the keys it may see, not on padding or on queries beside it.
//
// A task is one sample's key head, or some of the query heads that share it. It writes their parts
// of out and logsumexp and no others. It packs keys and values once, in its thread's scratch
// memory; a few queries, as in decoding, read them where they lie. Backward needs logsumexp alone.
#include "skein/core/profile.h"

#include "attention_head.h"
#include "few_rows.h"
#include "parallel.h"

namespace skein::kernels {
namespace {

// The state of the softmax of the queries of one panel.
template <class Unit>
struct SoftmaxState {
  typename Tile<Unit>::Sum largest[Tile<Unit>::kRows], sum[Tile<Unit>::kRows];
};

template <class T>
void mask_segments(const Head<T>& head, int64_t query, int64_t from, int64_t first, int64_t last,
                   Accumulator<T>* row) {
  for (int64_t j = first; j < last; ++j)
    if (!head.same_segment(query, from + j))
      row[j] = -std::numeric_limits<Accumulator<T>>::infinity();
}

template <class Unit, class T>
struct Forward {
  using A = Accumulator<T>;
  static constexpr int kRows = Tile<Unit>::kRows;
  static constexpr int64_t kBlock = kKeyBlock<Unit, T>;
  const Head<T>& head;
  Panels<Unit> keys, values;
  DeepRows<Unit> queries;
  A* scores;      // [kRows, kBlock]
  Unit* weights;  // the same, as left operand
  A* sums;        // [kRows, width]

  // Decoding: keys and values are read where they lie.
  static constexpr bool kFew = SKEIN_AVX512 && sizeof(Unit) == 4 &&
                               sizeof(T) * Lanes<Unit>::kDepth == 4 &&
                               !std::is_same_v<Unit, TilePair>;
  static bool few(int64_t queries) { return kFew && queries <= kFewRows; }

  void scores_of([[maybe_unused]] int64_t query, int64_t rows, int64_t from, int64_t count) const {
#if SKEIN_AVX512
    if constexpr (kFew)
      if (few(head.queries))
        return multiply_few_rows<Unit, T>({rows, count, head.width}, from_row(head.q, query),
                                          transposed(from_row(head.k, from)), scores, kBlock);
#endif
    multiply_deep<Unit>({rows, count, head.width}, queries, 0, keys.from_column(from), scores,
                        kBlock);
  }

  void add_values(int64_t rows, int64_t from, int64_t count) const {
#if SKEIN_AVX512
    if constexpr (kFew)
      if (few(head.queries))
        return add_few_rows<Unit, T>({rows, head.width, count},
                                     {weights, Tile<Unit>::kDepthBlock, 1}, from_row(head.v, from),
                                     sums, head.width);
#endif
    multiply_packed<Unit, Packing::by_row>({rows, head.width, units<Unit>(count)}, weights,
                                           values.from_depth(from), sums, head.width, true);
  }

  // Of row r [0, count), scores [first, last) become weights under the new maximum, the rest zero;
  // the row's sums are scaled to that maximum.
  void softmax_step(int64_t r, int64_t first, int64_t last, int64_t count,
                    SoftmaxState<Unit>& running) const {
    const A scale = head.scale;
    const int64_t width = head.width;
    A *row = scores + r * kBlock, *out = sums + r * width;
    A &largest = running.largest[r], &sum = running.sum[r];
    std::fill(row, row + first, A(0));
    std::fill(row + last, row + count, A(0));
    if (first >= last) return;
    const A top = std::max(
        largest, lane_max<A>(last - first, [=](int64_t j) { return row[first + j]; }) * scale);
    if (top == -std::numeric_limits<A>::infinity()) {
      std::fill(row + first, row + last, A(0));
      return;
    }
    const A shrink = exponential(largest - top);
    sum = sum * shrink + exponential_row(row + first, last - first, scale, top);
    largest = top;
    if (shrink != A(1))
      for (int64_t d = 0; d < width; ++d) out[d] *= shrink;
  }

  void block(int64_t query, int64_t rows, int64_t from, int64_t count,
             SoftmaxState<Unit>& running) const {
    scores_of(query, rows, from, count);
    for (int64_t r = 0; r < rows; ++r) {
      A* row = scores + r * kBlock;
      const int64_t first = std::clamp<int64_t>(head.first(query + r) - from, 0, count);
      const int64_t last = std::clamp<int64_t>(head.last(query + r) - from, first, count);
      if (head.segmented()) mask_segments(head, query + r, from, first, last, row);
      softmax_step(r, first, last, count, running);
      if (head.dropout_threshold) drop_row(head, query + r, from, count, row, row);
      if constexpr (kPairs<Unit>) pack_rounded(row, count, weights + r * Tile<Unit>::kDepthBlock);
    }
    add_values(rows, from, count);
  }

  void panel(int64_t query, int64_t rows, T* out, A* logsumexp) const {
    SoftmaxState<Unit> running;
    std::fill_n(running.largest, kRows, -std::numeric_limits<A>::infinity());
    std::fill_n(running.sum, kRows, A(0));
    std::fill(sums, sums + rows * head.width, A(0));
    if (!few(head.queries)) pack_deep<Unit, T>(from_row(head.q, query), rows, head.width, queries);
    const int64_t end = head.last(query + rows - 1);
    for (int64_t from = head.first(query) / kBlock * kBlock; from < end; from += kBlock)
      block(query, rows, from, std::min(kBlock, end - from), running);
    for (int64_t r = 0; r < rows; ++r) {
      const A sum = running.sum[r], factor = sum > 0 ? A(1) / sum : A(0);
      for (int64_t d = 0; d < head.width; ++d)
        store(out + (query + r) * head.q.row + d, sums[r * head.width + d] * factor);
      logsumexp[query + r] =
          sum > 0 ? running.largest[r] + std::log(sum) : -std::numeric_limits<A>::infinity();
    }
  }
};

// All query heads of one key head, whose keys and values are packed once.
template <class Unit, class T>
void forward_group(const Attention& given, const Tensor& out, const Tensor& logsumexp,
                   int64_t sample, int64_t first_head, int64_t heads) {
  using A = Accumulator<T>;
  using F = Forward<Unit, T>;
  const Head<T> one = make_head<T>(given, sample, first_head);
  const auto keys = Panels<Unit>::make(Scratch::keys, one.width, one.keys);
  const auto values = Panels<Unit>::make(Scratch::values, one.keys, one.width);
  if (!F::few(one.queries)) {
    keys.fill(transposed(one.k), one.width, one.keys);
    values.fill(one.v, one.keys, one.width);
  }
  A* scores = scratch<A>(Scratch::scores, F::kRows * F::kBlock);
  Unit* weights;
  if constexpr (kPairs<Unit>)
    weights = scratch<Unit>(Scratch::slopes, F::kRows * Tile<Unit>::kDepthBlock);
  else
    weights = scores;
  for (int64_t h = first_head; h < first_head + heads; ++h) {
    const Head<T> head = make_head<T>(given, sample, h);
    const F forward{head,
                    keys,
                    values,
                    DeepRows<Unit>::make(Scratch::queries, F::kRows, head.width),
                    scores,
                    weights,
                    scratch<A>(Scratch::gradients, F::kRows * head.width)};
    T* to = const_cast<T*>(head_view<T>(out, sample, h).data);
    for (int64_t query = 0; query < head.queries; query += F::kRows)
      forward.panel(query, std::min<int64_t>(F::kRows, head.queries - query), to,
                    logsumexp.data<A>() + (sample * out.dim(2) + h) * head.queries);
  }
}

}  // namespace

void attention(Cpu, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out logsumexp) {
  const Span span("attention", attention_flops(q, k, arguments.mask));
  const Attention given{q, k, v, arguments};
  const int64_t groups = k.dim(2), shared = q.dim(2) / groups, tasks = q.dim(0) * groups;
  // Where there are fewer key heads than threads, the heads that share one are split.
  const int64_t split = tasks >= omp_get_max_threads() ? 1 : shared, heads = shared / split;
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    visit_unit<T>([&]<class Unit>(TypeTag<Unit>) {
      parallel_ranges(tasks * split, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          forward_group<Unit, T>(given, *out, *logsumexp, i / (groups * split),
                                 i % (groups * split) * heads, heads);
      });
    });
  });
}

}  // namespace skein::kernels
