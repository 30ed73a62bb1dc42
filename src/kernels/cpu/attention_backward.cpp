#include "skein/core/profile.h"

#include "attention_head.h"

namespace skein::kernels {
namespace {

constexpr int64_t kQueryBlock = 96;  // of every tile's rows a multiple

template <class T>
void store_rows(const Accumulator<T>* from, int64_t rows, int64_t width, T* to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t d = 0; d < width; ++d) store(to + r * stride + d, from[r * width + d]);
}

// Queries query .. query + rows against the block of `count` keys that begins at `from`.
struct BlockPair {
  int64_t query, rows, from, count;
  const Granules* seen;  // of the block, by panel of queries
  // What is seen lies in these rows and keys, and nothing else of weights and slopes is read.
  int64_t first_row, last_row, low, high;
};

// One block of queries against the blocks of keys that it sees. Both rise, so that what is added up
// over keys (dq, the bias's gradient) is in their order, and what is added up over queries (dk, dv)
// in that of these.
template <class Unit, class T>
struct Backward {
  using A = Accumulator<T>;
  using Size = Tile<Unit>;
  static constexpr int64_t kBlock = kKeyBlock<Unit, T>, kRows = Size::kRows;
  static constexpr int kDepth = Lanes<Unit>::kDepth;
  static constexpr int64_t kDepthGranule = kDepth * Lanes<Unit>::kStep;
  const Head<T>& head;
  Sight<T>& sight;
  const A *level, *dlevel;  // [queries]; dlevel may be null
  Strided<T> out, dout;
  A *dq, *dk, *dv;                      // [queries, width], [keys, width]
  Panels<Unit> keys, values, key_rows;  // of all keys: kᵀ, vᵀ, k
  Panels<Unit> query_rows, dout_rows;   // of the query block: q, dout
  DeepRows<Unit> queries, douts;
  A *weights, *slopes, *dropped;  // [kQueryBlock, kBlock]; dropped is weights without dropout
  Unit* left;                     // one of them as left operand

  // weights = exp(score - level) where seen, slopes = weights · (dweights - row's sum of
  // dout · out + dlevel) · scale; both 0 elsewhere in [low, high).
  void rows_of(const BlockPair& at, int64_t r) const {
    A *weight = weights + r * kBlock, *slope = slopes + r * kBlock, *drop = dropped + r * kBlock;
    const int64_t query = at.query + r;
    int64_t done = at.low;
    const auto clear_until = [&](int64_t end) {
      std::fill(weight + done, weight + end, A(0));
      std::fill(slope + done, slope + end, A(0));
      if (drop != weight) std::fill(drop + done, drop + end, A(0));
    };
    if (level[query] != -std::numeric_limits<A>::infinity()) {
      const A less = less_of(query);
      sight.visit(query, at.from, at.count, [&](int64_t first, int64_t last, const KeyRun& run) {
        clear_until(first);
        weights_of(query, at.from, first, last, run, weight);
        slopes_of(query, r, at.from, first, last, less);
        done = last;
      });
    }
    clear_until(at.high);
  }

  // Of products in `weight`.
  void weights_of(int64_t query, int64_t from, int64_t first, int64_t last, const KeyRun& run,
                  A* weight) const {
    // A lone query's keys count alike, and its level is too far from 0 to say how many they are.
    if (head.runs && head.runs->alone(query)) {
      int64_t keys_seen = 0;
      for (const KeyRun& own : head.runs->of(query)) keys_seen += own.end - own.begin;
      return std::fill(weight + first, weight + last, A(1) / A(keys_seen));
    }
    add_to_scores(head, query, from, first, last, run, weight);
    exponential_row(weight + first, last - first, head.additive() ? A(1) : head.scale,
                    level[query]);
  }

  A less_of(int64_t query) const {
    const T *y = out.at(query, 0), *dy = dout.at(query, 0);
    const A sum = lane_sum<A>(head.width, [=](int64_t d) { return load(y + d) * load(dy + d); });
    return dlevel ? sum - dlevel[query] : sum;
  }

  void slopes_of(int64_t query, int64_t r, int64_t from, int64_t first, int64_t last,
                 A less) const {
    const A* weight = weights + r * kBlock;
    A* slope = slopes + r * kBlock;
    if (head.dropout_threshold) {
      drop_row(head, query, from + first, last - first, slope + first, slope + first);
      drop_row(head, query, from + first, last - first, weight + first,
               dropped + r * kBlock + first);
    }
    if (head.runs && head.runs->alone(query))  // its score is no function of q and k
      return std::fill(slope + first, slope + last, A(0));
    if (head.bias.gradient) {
      A* to = head.bias.gradient + query * head.bias.row + head.bias.first + from;
      for (int64_t j = first; j < last; ++j) to[j] += weight[j] * (slope[j] - less);
    }
    const A scale = head.scale;
    for (int64_t j = first; j < last; ++j) slope[j] = weight[j] * (slope[j] - less) * scale;
  }

  // Rows [first, last) of the pair's that may see keys [key, key + keys_here) of the block.
  std::pair<int64_t, int64_t> rows_seeing(const BlockPair& at, int64_t key,
                                          int64_t keys_here) const {
    if (!head.runs) {
      const int64_t apart = at.from + key - head.place - at.query;
      return {std::clamp<int64_t>(apart - head.after, 0, at.rows),
              std::clamp<int64_t>(apart + keys_here + head.before, 0, at.rows)};
    }
    const Granules asked = granules_of<Unit>(key, key + keys_here);
    int64_t first = at.rows, last = 0;
    for (int64_t r = 0; r < at.rows; r += kRows)
      if (at.seen[r / kRows] & asked) {
        first = std::min(first, r);
        last = std::min(at.rows, r + kRows);
      }
    return {first, last};
  }

  // target [count, width] += xᵀ [count, rows] · packed [rows, width], of the rows that see a panel
  // of keys.
  void add_transposed(const BlockPair& at, const A* x, const Panels<Unit>& packed,
                      A* target) const {
    for (int64_t key = at.low / kRows * kRows; key < at.high; key += kRows) {
      const int64_t used = std::min(kRows, at.count - key);
      auto [first, last] = rows_seeing(at, key, used);
      if (first >= last) continue;
      first = first / kDepthGranule * kDepthGranule;
      pack_rounded_columns<Unit>(x + first * kBlock + key, kBlock, last - first, used, left);
      constexpr Packing kTurned =
          std::is_same_v<Unit, TilePair> ? Packing::by_row : Packing::by_depth;
      multiply_packed<Unit, kTurned>({used, head.width, units<Unit>(last - first)}, left,
                                     packed.from_depth(first),
                                     target + (at.from + key) * head.width, head.width, true);
    }
  }

  void add_pair(const BlockPair& at) const {
    for (int64_t r = at.first_row; r < at.last_row; r += kRows) {
      const int64_t used = std::min(kRows, at.last_row - r);
      for_granules<Unit>(at.seen[r / kRows], at.count, [&](int64_t first, int64_t columns) {
        const Extent size{used, columns, head.width};
        multiply_deep<Unit>(size, queries, r, keys.from_column(at.from + first),
                            weights + r * kBlock + first, kBlock);
        multiply_deep<Unit>(size, douts, r, values.from_column(at.from + first),
                            slopes + r * kBlock + first, kBlock);
      });
      for (int64_t i = r; i < r + used; ++i) rows_of(at, i);
      for_granules<Unit>(at.seen[r / kRows], at.count, [&](int64_t first, int64_t columns) {
        add_queries(at.query + r, used, at.from + first, columns, slopes + r * kBlock + first);
      });
    }
    add_transposed(at, dropped, dout_rows, dv);
    add_transposed(at, slopes, query_rows, dk);
  }

  // dq [rows, width] += slopes [rows, columns] · k, of keys from `first` on
  void add_queries(int64_t query, int64_t rows, int64_t first, int64_t columns, const A* x) const {
    const Unit* operand;
    if constexpr (std::is_same_v<Unit, A>) {
      operand = x;
    } else {
      for (int64_t r = 0; r < rows; ++r)
        pack_rounded(x + r * kBlock, columns, left + r * Size::kDepthBlock);
      operand = left;
    }
    multiply_packed<Unit, Packing::by_row>({rows, head.width, units<Unit>(columns)}, operand,
                                           key_rows.from_depth(first), dq + query * head.width,
                                           head.width, true);
  }

  // any: what some panel sees. Panels of keys may reach beyond it, and products over rows begin at
  // a granule of depth.
  BlockPair pair_of(int64_t query, int64_t rows, int64_t from, int64_t count, const Granules* seen,
                    Granules any) const {
    int64_t first = 0, last = (rows + kRows - 1) / kRows;
    while (!seen[first]) ++first;
    while (!seen[last - 1]) --last;
    const int64_t low = std::countr_zero(any) * kGranule<Unit>,
                  high = std::bit_width(any) * kGranule<Unit>;
    return {query,
            rows,
            from,
            count,
            seen,
            first * kRows / kDepthGranule * kDepthGranule / kRows * kRows,
            std::min(rows, last * kRows),
            std::max<int64_t>(0, low - kRows),
            std::min(count, high + kRows)};
  }

  void query_block(int64_t query, int64_t rows) const {
    pack_deep<Unit, T>(from_row(head.q, query), rows, head.width, queries);
    pack_deep<Unit, T>(from_row(dout, query), rows, head.width, douts);
    query_rows.fill(from_row(head.q, query), rows, head.width);
    dout_rows.fill(from_row(dout, query), rows, head.width);
    for (int64_t from = 0; from < head.keys; from += kBlock) {
      const int64_t count = std::min(kBlock, head.keys - from);
      Granules seen[kQueryBlock / kRows + 1] = {}, any = 0;
      for (int64_t r = 0; r < rows; r += kRows)
        any |= seen[r / kRows] =
            sight.template granules<Unit>(query + r, std::min(kRows, rows - r), from, count);
      if (any) add_pair(pair_of(query, rows, from, count, seen, any));
    }
  }

  void all() const {
    keys.fill(transposed(head.k), head.width, head.keys);
    values.fill(transposed(head.v), head.width, head.keys);
    key_rows.fill(head.k, head.keys, head.width);
    for (int64_t query = 0, rows = 0; query < head.queries; query += rows) {
      rows = head.together(query, kQueryBlock, kQueryBlock / 2);
      query_block(query, rows);
    }
  }
};

// Sums over the keys of a head, and over the heads that share its keys.
template <class A>
struct GradientSums {
  A *dq, *dk, *dv;
};

template <class Unit, class T>
Backward<Unit, T> make_backward(const Head<T>& head, Sight<T>& sight, const Strided<T>& out,
                                const Strided<T>& dout, const GradientSums<Accumulator<T>>& sums) {
  using A = Accumulator<T>;
  using B = Backward<Unit, T>;
  const int64_t width = head.width, rows = std::min(kQueryBlock, head.queries);
  A* weights = scratch<A>(Scratch::scores, kQueryBlock * B::kBlock);
  return {head,
          sight,
          nullptr,
          nullptr,
          out,
          dout,
          sums.dq,
          sums.dk + head.begin * width,
          sums.dv + head.begin * width,
          Panels<Unit>::make(Scratch::keys, width, head.keys),
          Panels<Unit>::make(Scratch::values, width, head.keys),
          Panels<Unit>::make(Scratch::key_rows, head.keys, width),
          Panels<Unit>::make(Scratch::query_rows, rows, width),
          Panels<Unit>::make(Scratch::dout_rows, rows, width),
          DeepRows<Unit>::make(Scratch::queries, rows, width),
          DeepRows<Unit>::make(Scratch::douts, rows, width),
          weights,
          scratch<A>(Scratch::slopes, kQueryBlock * B::kBlock),
          head.dropout_threshold ? scratch<A>(Scratch::dropped, kQueryBlock * B::kBlock) : weights,
          scratch<Unit>(Scratch::packed_left, Tile<Unit>::kRows * Tile<Unit>::kDepthBlock)};
}

// Backward of one layer's attention.
template <class Unit, class T>
struct LayerBackward {
  using A = Accumulator<T>;
  const AttentionRecord& forward;
  const AttentionArguments& arguments;
  const AttentionGradient& gradient;
  const AttentionOuts& to;
  const SharedRuns& shared_with;

  // All query heads of one key head, in order, so that dk and dv have one order of summation.
  void group(int64_t sample, int64_t group) const {
    const Tensor &q = forward.q, &k = forward.k;
    const int64_t shared = q.dim(2) / k.dim(2), keys = k.dim(1), queries = q.dim(1),
                  width = k.dim(3);
    A* memory = scratch<A>(Scratch::gradients, (2 * keys + queries) * width);
    const GradientSums<A> sums{memory + 2 * keys * width, memory, memory + keys * width};
    std::fill(memory, sums.dq, A(0));
    HeadRuns runs({q, k, forward.v, arguments}, shared_with, sample);
    for (int64_t h = group * shared; h < (group + 1) * shared; ++h) {
      std::fill(sums.dq, sums.dq + queries * width, A(0));
      head(sample, h, runs, sums);
      store_rows<T>(sums.dq, queries, width, const_cast<T*>(head_view<T>(*to.q, sample, h).data),
                    q.dim(2) * width);
    }
    const auto dk = head_view<T>(*to.k, sample, group), dv = head_view<T>(*to.v, sample, group);
    store_rows<T>(sums.dk, keys, width, const_cast<T*>(dk.data), dk.row);
    store_rows<T>(sums.dv, keys, width, const_cast<T*>(dv.data), dv.row);
  }

  void head(int64_t sample, int64_t number, HeadRuns& runs, const GradientSums<A>& sums) const {
    Head<T> own = make_head<T>({forward.q, forward.k, forward.v, arguments}, sample, number);
    runs.give(number, own);
    if (to.bias->defined())
      own.bias.gradient = to.bias->data<A>() + (own.bias.values - arguments.bias.data<A>());
    Sight<T> sight(own);
    auto backward = make_backward<Unit, T>(own, sight, head_view<T>(forward.out, sample, number),
                                           head_view<T>(gradient.out, sample, number), sums);
    const int64_t first = (sample * forward.q.dim(2) + number) * own.queries;
    backward.level = forward.level.data<A>() + first;
    if (gradient.level.defined()) backward.dlevel = gradient.level.data<A>() + first;
    backward.all();
  }
};

}  // namespace

// One task is a sample's key head; of the samples that share a bias whose gradient is asked for,
// all.
void attention_backward(Cpu, const AttentionRecord& forward, const AttentionArguments& arguments,
                        const AttentionGradient& gradient, const AttentionOuts& to) {
  const Tensor &q = forward.q, &k = forward.k;
  const Span span("attention backward", 2.5 * attention_flops(q, k, arguments.pattern));
  const SharedRuns runs = shared_runs({q, k, forward.v, arguments});
  const bool shares = to.bias->defined();
  if (shares) to.bias->fill_zero();
  const int64_t groups = k.dim(2), together = shares ? q.dim(0) / to.bias->dim(0) : 1;
  visit_float(q.dtype(), [&]<class T>(TypeTag<T>) {
    visit_unit<T>([&]<class Unit>(TypeTag<Unit>) {
      const LayerBackward<Unit, T> layer{forward, arguments, gradient, to, runs};
      parallel_ranges(q.dim(0) / together * groups, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          for (int64_t s = 0; s < together; ++s) layer.group(i / groups * together + s, i % groups);
      });
    });
  });
}

}  // namespace skein::kernels
