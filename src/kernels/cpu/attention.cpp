#include "skein/kernels/attention.h"

#include <limits>

#include "gemm.h"
#include "parallel.h"
#include "skein/core/philox.h"

namespace skein::kernels {
namespace {

constexpr int64_t kQueryBlock = 64;

// Where one head of one sample lies in q, k, v and what masks it.
template <class T>
struct Head {
  using A = Accumulator<T>;
  Strided<T> q, k, v;  // rows are positions, columns the dims of the head
  int64_t queries, keys, width, first_query;
  A scale;
  const int32_t* segments;  // of this sample, or null
  int64_t first_key;
  uint64_t dropout_key, stream, dropout_base;
  uint32_t dropout_threshold;
  A keep;

  int64_t limit(int64_t query) const { return first_query + query + 1; }
  bool visible(int64_t query, int64_t key) const {
    return key >= first_key && (!segments || segments[key] == segments[first_query + query]);
  }
  A dropout_factor(int64_t query, int64_t key) const {
    const uint64_t place = dropout_base + static_cast<uint64_t>(query * keys + key);
    return philox(dropout_key, stream, place / 4)[place % 4] < dropout_threshold ? A(0) : keep;
  }
};

template <class T>
Strided<T> head_view(const Tensor& x, int64_t sample, int64_t head) {
  const int64_t heads = x.dim(2), width = x.dim(3);
  return {x.data<T>() + (sample * x.dim(1) * heads + head) * width, heads * width, 1};
}

template <class T>
Head<T> make_head(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments,
                  int64_t sample, int64_t head) {
  using A = Accumulator<T>;
  const int64_t shared = q.dim(2) / k.dim(2);
  Head<T> made{head_view<T>(q, sample, head), head_view<T>(k, sample, head / shared), head_view<T>(v, sample, head / shared),
               q.dim(1), k.dim(1), q.dim(3), arguments.first_query, A(arguments.scale), nullptr, 0, 0, 0, 0, 0, A(1)};
  if (arguments.segments.defined()) made.segments = arguments.segments.data<int32_t>() + sample * arguments.segments.dim(1);
  if (arguments.first_key.defined()) made.first_key = arguments.first_key.data<int32_t>()[sample];
  if (arguments.dropout > 0) {
    made.dropout_key = arguments.dropout_key;
    made.stream = static_cast<uint64_t>(arguments.sample_ids.data<int64_t>()[sample]);
    made.dropout_base = static_cast<uint64_t>((arguments.first_head + head) * made.queries * made.keys);
    made.dropout_threshold = static_cast<uint32_t>(arguments.dropout * 4294967296.0);
    made.keep = A(1) / A(1 - arguments.dropout);
  }
  return made;
}

// scores [rows, keys_used]: scale * q kᵀ, -inf where masked.
template <class T>
void block_scores(const Head<T>& head, int64_t first, int64_t rows, int64_t keys_used, Accumulator<T>* scores) {
  using A = Accumulator<T>;
  multiply<A, A, T, T>(rows, keys_used, head.width, {head.q.at(first, 0), head.q.row, 1},
                       {head.k.data, head.k.column, head.k.row}, scores, keys_used, false);
  const A masked = -std::numeric_limits<A>::infinity();
  for (int64_t r = 0; r < rows; ++r) {
    A* row = scores + r * keys_used;
    const int64_t limit = head.limit(first + r);
    for (int64_t j = 0; j < limit; ++j) row[j] *= head.scale;
    if (head.segments || head.first_key > 0)
      for (int64_t j = 0; j < limit; ++j)
        if (!head.visible(first + r, j)) row[j] = masked;
    std::fill(row + limit, row + keys_used, masked);
  }
}

// row [keys_used] of scores becomes softmax weights; returns the log of their denominator.
template <class A>
A softmax_row(A* row, int64_t limit, int64_t keys_used) {
  A largest = row[0];
  for (int64_t j = 1; j < limit; ++j) largest = row[j] > largest ? row[j] : largest;
  if (largest == -std::numeric_limits<A>::infinity()) {
    std::fill(row, row + keys_used, A(0));
    return largest;
  }
  for (int64_t j = 0; j < limit; ++j) row[j] = exponential(row[j] - largest);
  const A sum = lane_sum<A>(limit, [=](int64_t j) { return row[j]; });
  const A inverse = A(1) / sum;
  for (int64_t j = 0; j < limit; ++j) row[j] *= inverse;
  std::fill(row + limit, row + keys_used, A(0));
  return largest + std::log(sum);
}

// The sum begins at the first key, so that its order does not depend on the padding before it.
template <class T>
Accumulator<T> head_softmax(const Head<T>& head, Accumulator<T>* row, int64_t query, int64_t keys_used) {
  const int64_t from = std::min(head.first_key, head.limit(query) - 1);
  std::fill(row, row + from, Accumulator<T>(0));
  return softmax_row(row + from, head.limit(query) - from, keys_used - from);
}

template <class T>
void apply_dropout(const Head<T>& head, int64_t first, int64_t rows, int64_t keys_used, const Accumulator<T>* weights,
                   Accumulator<T>* out) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < head.limit(first + r); ++j)
      out[r * keys_used + j] = weights[r * keys_used + j] * head.dropout_factor(first + r, j);
}

template <class T>
void forward_head(const Head<T>& head, T* out, Accumulator<T>* logsumexp) {
  using A = Accumulator<T>;
  A* scores = scratch<A>(2, kQueryBlock * head.keys);
  for (int64_t first = 0; first < head.queries; first += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, head.queries - first), keys_used = head.limit(first + rows - 1);
    block_scores(head, first, rows, keys_used, scores);
    for (int64_t r = 0; r < rows; ++r)
      logsumexp[first + r] = head_softmax(head, scores + r * keys_used, first + r, keys_used);
    if (head.dropout_threshold) apply_dropout(head, first, rows, keys_used, scores, scores);
    multiply<T, A, A, T>(rows, head.width, keys_used, {scores, keys_used, 1}, {head.v.data, head.v.row, 1},
                         out + first * head.q.row, head.q.row, false);
  }
}

// weights [rows, keys_used] again from the kept logsumexp.
template <class T>
void block_weights(const Head<T>& head, int64_t first, int64_t rows, int64_t keys_used,
                   const Accumulator<T>* logsumexp, Accumulator<T>* weights) {
  using A = Accumulator<T>;
  block_scores(head, first, rows, keys_used, weights);
  for (int64_t r = 0; r < rows; ++r) {
    A* row = weights + r * keys_used;
    const A level = logsumexp[first + r];
    const bool dead = level == -std::numeric_limits<A>::infinity();
    for (int64_t j = 0; j < keys_used; ++j) row[j] = dead ? A(0) : exponential(row[j] - level);
  }
}

template <class T>
struct HeadGradient {
  using A = Accumulator<T>;
  Strided<T> out, dout;
  T* dq;
  A *dk, *dv;  // [keys, width]
};

// slopes [rows, keys_used] = weights * (dweights - row's sum of dout * out) * scale
template <class T>
void score_gradient(const Head<T>& head, const HeadGradient<T>& gradient, int64_t first, int64_t rows,
                    int64_t keys_used, const Accumulator<T>* weights, Accumulator<T>* slopes) {
  using A = Accumulator<T>;
  for (int64_t r = 0; r < rows; ++r) {
    const T *y = gradient.out.at(first + r, 0), *dy = gradient.dout.at(first + r, 0);
    const A level = lane_sum<A>(head.width, [=](int64_t d) { return load(y + d) * load(dy + d); });
    const A* weight = weights + r * keys_used;
    A* slope = slopes + r * keys_used;
    for (int64_t j = 0; j < keys_used; ++j) slope[j] = weight[j] * (slope[j] - level) * head.scale;
  }
}

template <class T>
void backward_head(const Head<T>& head, const Accumulator<T>* logsumexp, const HeadGradient<T>& gradient) {
  using A = Accumulator<T>;
  A* weights = scratch<A>(2, kQueryBlock * head.keys);
  A* slopes = scratch<A>(3, kQueryBlock * head.keys);
  A* dropped = head.dropout_threshold ? scratch<A>(4, kQueryBlock * head.keys) : weights;
  const int64_t width = head.width;
  for (int64_t first = 0; first < head.queries; first += kQueryBlock) {
    const int64_t rows = std::min(kQueryBlock, head.queries - first), keys_used = head.limit(first + rows - 1);
    const Strided<T> dout{gradient.dout.at(first, 0), gradient.dout.row, 1};
    block_weights(head, first, rows, keys_used, logsumexp, weights);
    if (head.dropout_threshold) {
      std::fill(dropped, dropped + rows * keys_used, A(0));
      apply_dropout(head, first, rows, keys_used, weights, dropped);
    }
    multiply<A, A, A, T>(keys_used, width, rows, {dropped, 1, keys_used}, dout, gradient.dv, width, true);
    multiply<A, A, T, T>(rows, keys_used, width, dout, {head.v.data, 1, head.v.row}, slopes, keys_used, false);
    if (head.dropout_threshold) apply_dropout(head, first, rows, keys_used, slopes, slopes);
    score_gradient(head, gradient, first, rows, keys_used, weights, slopes);
    multiply<T, A, A, T>(rows, width, keys_used, {slopes, keys_used, 1}, {head.k.data, head.k.row, 1},
                         gradient.dq + first * head.q.row, head.q.row, false);
    multiply<A, A, A, T>(keys_used, width, rows, {slopes, 1, keys_used}, {head.q.at(first, 0), head.q.row, 1}, gradient.dk,
                         width, true);
  }
}

template <class T>
void store_rows(const Accumulator<T>* from, int64_t rows, int64_t width, T* to, int64_t stride) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t d = 0; d < width; ++d) store(to + r * stride + d, from[r * width + d]);
}

// All query heads of one key head, in order, so that dk and dv have one order of summation.
template <class T>
void backward_group(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments,
                    const Tensor& out, const Tensor& logsumexp, const Tensor& dout, const Tensor& dq, const Tensor& dk,
                    const Tensor& dv, int64_t sample, int64_t group) {
  using A = Accumulator<T>;
  const int64_t heads = q.dim(2), shared = heads / k.dim(2), keys = k.dim(1), width = k.dim(3);
  A *dk_sum = scratch<A>(5, keys * width), *dv_sum = scratch<A>(6, keys * width);
  std::fill(dk_sum, dk_sum + keys * width, A(0));
  std::fill(dv_sum, dv_sum + keys * width, A(0));
  for (int64_t h = group * shared; h < (group + 1) * shared; ++h) {
    const HeadGradient<T> gradient{head_view<T>(out, sample, h), head_view<T>(dout, sample, h),
                                   const_cast<T*>(head_view<T>(dq, sample, h).data), dk_sum, dv_sum};
    backward_head(make_head<T>(q, k, v, arguments, sample, h),
                  logsumexp.data<A>() + (sample * heads + h) * q.dim(1), gradient);
  }
  const auto dk_view = head_view<T>(dk, sample, group), dv_view = head_view<T>(dv, sample, group);
  store_rows<T>(dk_sum, keys, width, const_cast<T*>(dk_view.data), dk_view.row);
  store_rows<T>(dv_sum, keys, width, const_cast<T*>(dv_view.data), dv_view.row);
}

}  // namespace

void attention(Cpu, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments,
               const Tensor& out, const Tensor& logsumexp) {
  const int64_t batch = q.dim(0), queries = q.dim(1), heads = q.dim(2);
  SKEIN_CHECK(k.dim(1) >= arguments.first_query + queries);
  visit_float(q.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    parallel_ranges(batch * heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        forward_head(make_head<T>(q, k, v, arguments, i / heads, i % heads),
                     const_cast<T*>(head_view<T>(out, i / heads, i % heads).data), logsumexp.data<A>() + i * queries);
    });
  });
}

void attention_backward(Cpu, const Tensor& q, const Tensor& k, const Tensor& v, const AttentionArguments& arguments,
                        const Tensor& out, const Tensor& logsumexp, const Tensor& dout, const Tensor& dq,
                        const Tensor& dk, const Tensor& dv) {
  const int64_t groups = k.dim(2);
  visit_float(q.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_ranges(q.dim(0) * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        backward_group<T>(q, k, v, arguments, out, logsumexp, dout, dq, dk, dv, i / groups, i % groups);
    });
  });
}

void rotary(Cpu, const Tensor& x, const Tensor& positions, double theta, bool inverse, const Tensor& out) {
  const int64_t heads = x.dim(2), width = x.dim(3), half = width / 2;
  const int32_t* position = positions.data<int32_t>();
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const T* in = x.data<T>();
    T* to = out.data<T>();
    parallel_ranges(x.dim(0) * x.dim(1), row_grain(heads * width), [=](int64_t begin, int64_t end) {
      A* turn = scratch<A>(7, width);
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t j = 0; j < half; ++j) {
          const double angle = position[row] * std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(width));
          turn[j] = A(std::cos(angle));
          turn[half + j] = A(inverse ? -std::sin(angle) : std::sin(angle));
        }
        for (int64_t h = 0; h < heads; ++h) {
          const T* a = in + (row * heads + h) * width;
          T* b = to + (row * heads + h) * width;
          for (int64_t j = 0; j < half; ++j) {
            const A first = load(a + j), second = load(a + half + j);
            store(b + j, first * turn[j] - second * turn[half + j]);
            store(b + half + j, second * turn[j] + first * turn[half + j]);
          }
        }
      }
    });
  });
}

}  // namespace skein::kernels
