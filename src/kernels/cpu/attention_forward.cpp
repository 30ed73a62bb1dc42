// Softmax online over blocks of keys: Dao and others, "FlashAttention" (2022), with the rows of a
// tile as its block. Invariants:
//
// After each block a query's row of `sums` is the weighted sum of the values seen so far, and `sum`
// that of the weights, both by exp(score - largest); a new maximum shrinks both. Dropout takes from
// the weights of values, never from `sum`. While nothing was visible, largest is -inf, both are 0.
//
// Keys are counted from the first that anyone may see (Head::begin), and blocks begin at multiples
// of kBlock of these. A block in which a query sees nothing changes nothing of its row, and in the
// others its weights are summed run by run of the keys that it sees (Sight). So the bits of a row
// depend on its query and on the keys it may see, not on padding or on queries beside it. Products
// are made of the granules that some query of the panel sees.
//
// A task is one sample's key head, or some of the query heads that share it. It writes their parts
// of out and level and no others. It packs keys and values once, in its thread's scratch
// memory; a few queries, as in decoding, read them where they lie. Backward needs the level alone.
#include "skein/core/profile.h"

#include "attention_head.h"
#include "few_rows.h"

namespace skein::kernels {
namespace {

// The state of the softmax of the queries of one panel.
template <class Unit>
struct SoftmaxState {
  typename Tile<Unit>::Sum largest[Tile<Unit>::kRows], sum[Tile<Unit>::kRows];
};

template <class Unit, class T>
struct Forward {
  using A = Accumulator<T>;
  static constexpr int kRows = Tile<Unit>::kRows;
  static constexpr int64_t kBlock = kKeyBlock<Unit, T>;
  const Head<T>& head;
  Sight<T>& sight;
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

  // Of `count` keys of the block that begins at `from`, from its key `first` on.
  void scores_of([[maybe_unused]] int64_t query, int64_t rows, int64_t from, int64_t first,
                 int64_t count) const {
    A* out = scores + first;
#if SKEIN_AVX512
    if constexpr (kFew)
      if (few(head.queries))
        return multiply_few_rows<Unit, T>({rows, count, head.width}, from_row(head.q, query),
                                          transposed(from_row(head.k, from + first)), out, kBlock);
#endif
    multiply_deep<Unit>({rows, count, head.width}, queries, 0, keys.from_column(from + first), out,
                        kBlock);
  }

  void add_values(int64_t rows, int64_t from, int64_t first, int64_t count) const {
    const Unit* left = weights + first / Lanes<Unit>::kDepth;
#if SKEIN_AVX512
    if constexpr (kFew)
      if (few(head.queries))
        return add_few_rows<Unit, T>({rows, head.width, count}, {left, Tile<Unit>::kDepthBlock, 1},
                                     from_row(head.v, from + first), sums, head.width);
#endif
    multiply_packed<Unit, Packing::by_row>({rows, head.width, units<Unit>(count)}, left,
                                           values.from_depth(from + first), sums, head.width, true);
  }

  // Of row r [low, high), products become weights under the new maximum where they are seen, the
  // rest zero; the row's sums are scaled to that maximum. Nothing is seen beyond.
  void softmax_step(int64_t query, int64_t r, int64_t from, int64_t low, int64_t high,
                    SoftmaxState<Unit>& running) const {
    const A scale = head.additive() ? A(1) : head.scale;
    A *row = scores + r * kBlock, *out = sums + r * head.width;
    A &largest = running.largest[r], &sum = running.sum[r];
    int64_t done = low;
    A top = largest;
    sight.visit(query, from, high, [&](int64_t first, int64_t last, const KeyRun& run) {
      std::fill(row + done, row + first, A(0));
      add_to_scores(head, query, from, first, last, run, row);
      top = std::max(top,
                     lane_max<A>(last - first, [=](int64_t j) { return row[first + j]; }) * scale);
      done = last;
    });
    std::fill(row + done, row + high, A(0));
    if (done == low) return;
    // NaN is no largest one, but must not pass for nothing seen.
    if (top == -std::numeric_limits<A>::infinity() &&
        !std::isnan(lane_sum<A>(done - low, [=](int64_t j) { return row[low + j]; })))
      return std::fill(row + low, row + done, A(0));
    const A shrink = largest == top && std::isfinite(top) ? A(1) : exponential(largest - top);
    A added = 0;
    sight.visit(query, from, high, [&](int64_t first, int64_t last, const KeyRun&) {
      added += exponential_row(row + first, last - first, scale, top);
    });
    sum = sum * shrink + added;
    largest = top;
    if (shrink != A(1))
      for (int64_t d = 0; d < head.width; ++d) out[d] *= shrink;
  }

  void block(int64_t query, int64_t rows, int64_t from, int64_t count,
             SoftmaxState<Unit>& running) const {
    const Granules seen = sight.template granules<Unit>(query, rows, from, count);
    if (!seen) return;
    for_granules<Unit>(seen, count, [&](int64_t first, int64_t keys_here) {
      scores_of(query, rows, from, first, keys_here);
    });
    const int64_t low = std::countr_zero(seen) * kGranule<Unit>,
                  high = std::min<int64_t>(count, std::bit_width(seen) * kGranule<Unit>);
    for (int64_t r = 0; r < rows; ++r) {
      A* row = scores + r * kBlock;
      softmax_step(query + r, r, from, low, high, running);
      if (head.dropout_threshold)
        sight.visit(query + r, from, high, [&](int64_t first, int64_t last, const KeyRun&) {
          drop_row(head, query + r, from + first, last - first, row + first, row + first);
        });
      if constexpr (kPairs<Unit>)
        pack_rounded(row + low, high - low,
                     weights + r * Tile<Unit>::kDepthBlock + low / Lanes<Unit>::kDepth);
    }
    for_granules<Unit>(seen, count, [&](int64_t first, int64_t keys_here) {
      add_values(rows, from, first, keys_here);
    });
  }

  void panel(int64_t query, int64_t rows, T* out, A* level) const {
    SoftmaxState<Unit> running;
    std::fill_n(running.largest, kRows, -std::numeric_limits<A>::infinity());
    std::fill_n(running.sum, kRows, A(0));
    std::fill(sums, sums + rows * head.width, A(0));
    if (!few(head.queries)) pack_deep<Unit, T>(from_row(head.q, query), rows, head.width, queries);
    const auto [begin, end] = extent(query, rows);
    for (int64_t from = begin / kBlock * kBlock; from < end;
         from = sight.next(query, rows, from + kBlock) / kBlock * kBlock)
      block(query, rows, from, std::min(kBlock, end - from), running);
    for (int64_t r = 0; r < rows; ++r) {
      const A sum = running.sum[r], factor = sum == 0 ? A(0) : A(1) / sum;
      for (int64_t d = 0; d < head.width; ++d)
        store(out + (query + r) * head.q.row + d, sums[r * head.width + d] * factor);
      level[query + r] =
          sum == 0 ? -std::numeric_limits<A>::infinity() : running.largest[r] + std::log(sum);
    }
  }

  // All keys that the queries see lie in it.
  std::pair<int64_t, int64_t> extent(int64_t query, int64_t rows) const {
    if (!head.runs) return {head.first(query), head.last(query + rows - 1)};
    int64_t begin = head.keys, end = 0;
    for (int64_t i = query; i < query + rows; ++i)
      if (const auto runs = head.runs->of(i); !runs.empty()) {
        begin = std::min(begin, runs.front().begin - head.begin);
        end = std::max(end, runs.back().end - head.begin);
      }
    return {begin, end};
  }
};

struct AttentionResult {
  const Tensor &out, &level;
};

// All query heads of one key head, whose keys and values are packed once.
template <class Unit, class T>
void forward_group(const Attention& given, const SharedRuns& shared, const AttentionResult& to,
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
  HeadRuns runs(given, shared, sample);
  for (int64_t h = first_head; h < first_head + heads; ++h) {
    Head<T> head = make_head<T>(given, sample, h);
    runs.give(h, head);
    Sight<T> sight(head);
    const F forward{head,
                    sight,
                    keys,
                    values,
                    DeepRows<Unit>::make(Scratch::queries, F::kRows, head.width),
                    scores,
                    weights,
                    scratch<A>(Scratch::gradients, F::kRows * head.width)};
    T* out = const_cast<T*>(head_view<T>(to.out, sample, h).data);
    for (int64_t query = 0, rows = 0; query < head.queries; query += rows) {
      rows = head.together(query, F::kRows, F::kRows);
      forward.panel(query, rows, out,
                    to.level.data<A>() + (sample * to.out.dim(2) + h) * head.queries);
    }
  }
}

}  // namespace

void attention(Cpu, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out level) {
  const Span span("attention", attention_flops(q, k, arguments.pattern));
  const Attention given{q, k, v, arguments};
  const SharedRuns runs = shared_runs(given);
  const int64_t groups = k.dim(2), shared = q.dim(2) / groups, tasks = q.dim(0) * groups;
  // Where there are fewer key heads than threads, the heads that share one are split.
  const int64_t split = tasks >= omp_get_max_threads() ? 1 : shared, heads = shared / split;
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    visit_unit<T>([&]<class Unit>(TypeTag<Unit>) {
      parallel_ranges(tasks * split, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          forward_group<Unit, T>(given, runs, {*out, *level}, i / (groups * split),
                                 i % (groups * split) * heads, heads);
      });
    });
  });
}

}  // namespace skein::kernels
