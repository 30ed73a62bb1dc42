// One head of one sample: where it lies, what masks it, and its keys packed for tiles. Internal to
// attention.
#pragma once

#include <bit>
#include <limits>
#include <memory>
#include <vector>

#include "skein/core/profile.h"
#include "skein/kernels/attention.h"

#include "dropout.h"
#include "gemm.h"
#include "parallel.h"

namespace skein::kernels {

// What is added to the scores of one head, and where its gradient goes: query i and key j have
// element i * row + j + first of either.
template <class A>
struct HeadBias {
  const A* values = nullptr;  // null: there is none
  A* gradient = nullptr;
  int64_t row = 0, first = 0;
};

// Keys from `begin` on can be seen by someone; all key numbers below count from there.
template <class T>
struct Head {
  using A = Accumulator<T>;
  Strided<T> q, k, v;  // rows are positions, columns the dims of the head
  int64_t queries, keys, width, begin;
  int64_t place;  // of query 0 among the keys
  int64_t before, after;
  A scale;
  const PatternView* view;  // null: the band says all
  const KeyRuns* runs;
  HeadBias<A> bias;
  uint64_t dropout_key, stream, dropout_base;
  uint32_t dropout_threshold;
  A keep;

  // Keys [first, last) are in the query's band.
  int64_t first(int64_t query) const { return std::max<int64_t>(0, place + query - before); }
  int64_t last(int64_t query) const {
    return std::clamp<int64_t>(place + query + after + 1, 0, keys);
  }
  // How many queries from `query` on to take together, up to `most`. Those of one list of blocks
  // see alike, so that no product is made for queries of another list that do not see its keys;
  // short lists are not worth it.
  int64_t together(int64_t query, int64_t most, int64_t shortest) const {
    const int64_t rows = std::min(most, queries - query);
    if (!view || view->block < shortest) return rows;
    int64_t alike = 1;
    while (alike < rows && view->list_of(query + alike) == view->list_of(query)) ++alike;
    return alike;
  }
  // Where scores are more than the scaled product.
  bool additive() const { return bias.values || (runs && (runs->repeats() || view->self_last)); }
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
void set_bias(const Tensor& bias, const Tensor& q, const Tensor& k, int64_t sample, int64_t head,
              Head<T>& made) {
  if (!bias.defined()) return;
  const int64_t queries = q.dim(1), row = sample * bias.dim(0) / q.dim(0) * q.dim(2) + head,
                size = bias.size() / (bias.dim(0) * q.dim(2));
  const bool dense = bias.shape().rank() == 4;
  made.bias = {bias.data<Accumulator<T>>() + row * size, nullptr, dense ? k.dim(1) : -1,
               (dense ? 0 : queries - 1) + made.begin};
}

// Without runs, which are set by the caller where the band does not say all.
template <class T>
Head<T> make_head(const Attention& given, int64_t sample, int64_t head) {
  using A = Accumulator<T>;
  const auto& [q, k, v, arguments] = given;
  const Pattern& pattern = arguments.pattern;
  const int64_t shared = q.dim(2) / k.dim(2), all_keys = k.dim(1), queries = q.dim(1);
  Head<T> made{};
  made.begin = pattern.first_key.defined() ? pattern.first_key.data<int32_t>()[sample] : 0;
  made.q = head_view<T>(q, sample, head);
  made.k = from_row(head_view<T>(k, sample, head / shared), made.begin);
  made.v = from_row(head_view<T>(v, sample, head / shared), made.begin);
  made.queries = queries;
  const int64_t near = pattern.is_band() ? pattern.first_query + queries + pattern.after : all_keys;
  made.keys = std::max<int64_t>(0, std::min(all_keys, near) - made.begin);
  made.width = q.dim(3);
  made.place = pattern.first_query - made.begin;
  made.before = pattern.before;
  made.after = pattern.after;
  made.scale = A(arguments.scale);
  set_bias(arguments.bias, q, k, sample, head, made);
  if (arguments.dropout > 0) {
    made.dropout_key = arguments.dropout_key;
    made.stream = static_cast<uint64_t>(arguments.sample_ids.data<int64_t>()[sample]);
    made.dropout_base = static_cast<uint64_t>(arguments.first_head + head) << kDropoutHead;
    made.dropout_threshold = static_cast<uint32_t>(arguments.dropout * 4294967296.0);
    made.keep = A(1) / A(1 - arguments.dropout);
  }
  return made;
}

// Who sees whom in one sample and set of lists.
struct RunsOfSet {
  PatternView view;
  KeyRuns runs;

  RunsOfSet(const Attention& given, int64_t sample, int64_t set)
      : view(given.arguments.pattern, sample, set, given.q.dim(1), given.k.dim(1)), runs(view) {}
};

// By sample, where all heads see alike and the band does not say all; else none.
using SharedRuns = std::vector<std::unique_ptr<const RunsOfSet>>;
inline SharedRuns shared_runs(const Attention& given) {
  const Pattern& pattern = given.arguments.pattern;
  if (pattern.is_band() || (pattern.lists.size && pattern.lists.starts.dim(0) > 1)) return {};
  SharedRuns made(static_cast<size_t>(given.q.dim(0)));
  parallel_ranges(given.q.dim(0), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      made[static_cast<size_t>(i)] = std::make_unique<RunsOfSet>(given, i, 0);
  });
  return made;
}

// Gives heads of a sample their runs; holds those of one head where heads differ.
class HeadRuns {
 public:
  HeadRuns(const Attention& given, const SharedRuns& shared, int64_t sample)
      : given_(given), shared_(shared), sample_(sample) {}

  template <class T>
  void give(int64_t number, Head<T>& head) {
    if (given_.arguments.pattern.is_band()) return;
    if (shared_.empty()) own_ = std::make_unique<RunsOfSet>(given_, sample_, number);
    const RunsOfSet& runs = shared_.empty() ? *own_ : *shared_[static_cast<size_t>(sample_)];
    head.view = &runs.view;
    head.runs = &runs.runs;
  }

 private:
  Attention given_;
  const SharedRuns& shared_;
  int64_t sample_;
  std::unique_ptr<const RunsOfSet> own_;
};

// Keys of a block, in granules at which tiles may be cut, as bits.
using Granules = uint64_t;
template <class Unit>
constexpr int64_t kGranule = std::max<int64_t>(Tile<Unit>::kColumns,
                                               int64_t{Lanes<Unit>::kDepth} * Lanes<Unit>::kStep);

template <class Unit>
Granules granules_of(int64_t first, int64_t last) {
  if (first >= last) return 0;
  const int64_t begin = first / kGranule<Unit>, end = (last - 1) / kGranule<Unit> + 1;
  return (end == 64 ? ~Granules{0} : (Granules{1} << end) - 1) & ~((Granules{1} << begin) - 1);
}

// f(first, count) for each run of granules, cut at `limit`.
template <class Unit, class F>
void for_granules(Granules granules, int64_t limit, const F& f) {
  while (granules) {
    const int begin = std::countr_zero(granules), length = std::countr_one(granules >> begin);
    const int64_t first = begin * kGranule<Unit>;
    f(first, std::min(limit, first + length * kGranule<Unit>) - first);
    granules = begin + length == 64 ? 0 : granules >> (begin + length) << (begin + length);
  }
}

// What the queries of a head see of its blocks of keys. The blocks a query is asked about rise.
template <class T>
class Sight {
 public:
  explicit Sight(const Head<T>& head) : head_(head) {
    if (!head.runs) return;
    for (int64_t i = 0; i < head.queries; ++i) at_.push_back(head.runs->of(i).data());
  }

  // The first key from `from` on that one of the queries sees, or that may be one; head.keys or
  // more: there is none.
  int64_t next(int64_t query, int64_t rows, int64_t from) {
    if (!head_.runs) return from;
    int64_t found = std::max(from, head_.keys);
    for (int64_t i = query; i < query + rows; ++i)
      if (const KeyRun* at = first_after(i, from))
        found = std::min(found, std::max(from, at->begin - head_.begin));
    return found;
  }

  // f(first, last, run) for what it sees of keys from .. from + count, counted from `from`.
  template <class F>
  void visit(int64_t query, int64_t from, int64_t count, const F& f) {
    if (!head_.runs) {
      const int64_t first = std::clamp<int64_t>(head_.first(query) - from, 0, count),
                    last = std::clamp<int64_t>(head_.last(query) - from, first, count);
      if (first < last) f(first, last, KeyRun{first, last, 1, true});
      return;
    }
    const KeyRun* const end = runs_end(query);
    const int64_t zero = head_.begin + from;
    for (const KeyRun* run = first_after(query, from);
         run && run < end && run->begin < zero + count; ++run)
      f(std::max<int64_t>(run->begin - zero, 0), std::min(run->end - zero, count), *run);
  }

  // Those that one of the queries sees, and how far they see.
  template <class Unit>
  Granules granules(int64_t query, int64_t rows, int64_t from, int64_t count) {
    if (!head_.runs)
      return granules_of<Unit>(std::clamp<int64_t>(head_.first(query) - from, 0, count),
                               std::clamp<int64_t>(head_.last(query + rows - 1) - from, 0, count));
    Granules made = 0;
    for (int64_t r = 0; r < rows; ++r)
      visit(query + r, from, count, [&](int64_t first, int64_t last, const KeyRun&) {
        made |= granules_of<Unit>(first, last);
      });
    return made;
  }

 private:
  const KeyRun* runs_end(int64_t query) const {
    const auto runs = head_.runs->of(query);
    return runs.data() + runs.size();
  }
  // The query's first run that ends after key `from`, or null.
  const KeyRun* first_after(int64_t query, int64_t from) {
    const KeyRun*& at = at_[static_cast<size_t>(query)];
    const KeyRun* const end = runs_end(query);
    while (at < end && at->end <= head_.begin + from) ++at;
    return at < end ? at : nullptr;
  }

  const Head<T>& head_;
  std::vector<const KeyRun*> at_;  // by query, its first run that may still be asked for
};

// The scores of keys [first, last) of a block in `row`, which holds products, where they are more
// than the scaled product; what is not seen becomes -inf.
template <class T>
void add_to_scores(const Head<T>& head, int64_t query, int64_t from, int64_t first, int64_t last,
                   const KeyRun& run, Accumulator<T>* row) {
  using A = Accumulator<T>;
  if (head.additive()) {
    const A more = std::log(A(run.whole ? run.times : 1));
    const A* bias = head.bias.values
                        ? head.bias.values + query * head.bias.row + head.bias.first + from
                        : nullptr;
    const A scale = head.scale;
    if (head.runs && head.runs->alone(query))
      std::fill(row + first, row + last, A(kAlone));
    else if (bias)
      for (int64_t j = first; j < last; ++j) row[j] = row[j] * scale + bias[j] + more;
    else
      for (int64_t j = first; j < last; ++j) row[j] = row[j] * scale + more;
  }
  if (run.whole) return;
  for (int64_t j = first; j < last; ++j) {
    const int64_t times = head.view->times(query, head.begin + from + j);
    if (times == 0) row[j] = -std::numeric_limits<A>::infinity();
    if (times > 1) row[j] += std::log(A(times));
  }
}

// row [count] of weights times 0 or 1 / (1 - dropout), for keys of the head from key `from` on.
template <class T>
void drop_row(const Head<T>& head, int64_t query, int64_t from, int64_t count,
              const Accumulator<T>* row, Accumulator<T>* out) {
  using A = Accumulator<T>;
  const DropoutStream stream{head.dropout_key, head.stream, head.dropout_threshold};
  const auto draw = [&](int64_t query_place, int64_t key_place) {
    return head.dropout_base + (static_cast<uint64_t>(query_place) << kDropoutQuery) +
           static_cast<uint64_t>(key_place);
  };
  if (head.view && head.view->key_places) {
    const int32_t* places = head.view->key_places + head.begin + from;
    for (int64_t j = 0; j < count; ++j)
      for_dropout_factors<A>(stream, draw(head.view->query_places[query], places[j]), 1, head.keep,
                             [&](int64_t, int64_t, const A* factor) { out[j] = row[j] * *factor; });
    return;
  }
  for_dropout_factors<A>(stream, draw(query, head.begin + from), count, head.keep,
                         [=](int64_t begin, int64_t end, const A* factors) {
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

// Of the two products with the scores that are seen; counted while a profile runs.
inline double attention_flops(const Tensor& q, const Tensor& k, const Pattern& pattern) {
  if (!Profile::running()) return 0;
  return 4.0 * static_cast<double>(q.dim(3)) *
         visible_pairs(pattern, q.dim(0), q.dim(2), q.dim(1), k.dim(1));
}

template <class T>
Strided<T> transposed(const Strided<T>& x) {
  return {x.data, x.column, x.row};
}

}  // namespace skein::kernels
