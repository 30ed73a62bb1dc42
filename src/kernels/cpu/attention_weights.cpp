#include "skein/kernels/attention_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace skein::kernels {
namespace {

Tensor on_host(const Tensor& x, DType dtype) {
  return x.defined() ? x.to(Device{}).to(dtype) : Tensor();
}

Pattern on_host(const Pattern& pattern) {
  Pattern made = pattern;
  for (Tensor* x : {&made.query_segments, &made.key_segments, &made.first_key, &made.lists.starts,
                    &made.lists.blocks, &made.lists.origins, &made.lists.rows, &made.prefix,
                    &made.marked, &made.query_places, &made.key_places})
    *x = on_host(*x, DType::i32);
  return made;
}

// The scores of one sample and head.
struct Scores {
  const Tensor &q, &k, &bias;  // f64 on the host; bias may be undefined
  double scale;
  int64_t sample, head;

  double of(int64_t query, int64_t key) const {
    const int64_t width = q.dim(3), heads = q.dim(2), groups = k.dim(2);
    const double* left = q.data<double>() + ((sample * q.dim(1) + query) * heads + head) * width;
    const double* right =
        k.data<double>() + ((sample * k.dim(1) + key) * groups + head / (heads / groups)) * width;
    double sum = 0;
    for (int64_t d = 0; d < width; ++d) sum += left[d] * right[d];
    return scale * sum + added(query, key);
  }

 private:
  double added(int64_t query, int64_t key) const {
    if (!bias.defined()) return 0;
    const int64_t queries = q.dim(1), keys = k.dim(1),
                  row = sample * bias.dim(0) / q.dim(0) * q.dim(2) + head;
    const bool dense = bias.shape().rank() == 4;
    return bias.data<double>()[dense ? (row * queries + query) * keys + key
                                     : row * (queries + keys - 1) + key - query + queries - 1];
  }
};

// Those of one query, in place of `out`, which holds 0.
void weigh(const Scores& scores, const PatternView& view, int64_t query, double* out) {
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (int64_t key = 0; key < view.keys; ++key) {
    if (view.times(query, key) == 0) continue;
    out[key] = scores.of(query, key);
    most = std::max(most, out[key]);
  }
  for (int64_t key = 0; key < view.keys; ++key) {
    const int64_t times = view.times(query, key);
    if (times == 0) continue;
    out[key] = static_cast<double>(times) * std::exp(out[key] - most);
    sum += out[key];
  }
  for (int64_t key = 0; sum > 0 && key < view.keys; ++key) out[key] /= sum;
}

// By self_last a query that sees nothing else sees the keys of its own place, all alike.
void weigh_own_place(PatternView view, int64_t query, double* out) {
  view.self_last = false;
  int64_t count = 0;
  for (int64_t key = 0; key < view.keys; ++key) count += view.times(query, key) > 0;
  for (int64_t key = 0; key < view.keys; ++key)
    if (view.times(query, key) > 0) out[key] = 1.0 / static_cast<double>(count);
}

}  // namespace

Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionArguments& arguments) {
  const Tensor queries = on_host(q, DType::f64), keys = on_host(k, DType::f64),
               bias = on_host(arguments.bias, DType::f64);
  const Pattern pattern = on_host(arguments.pattern);
  const int64_t samples = q.dim(0), heads = q.dim(2), rows = q.dim(1), columns = k.dim(1);
  const Tensor made = Tensor::zeros({samples, heads, rows, columns}, DType::f64);
  for (int64_t sample = 0; sample < samples; ++sample)
    for (int64_t head = 0; head < heads; ++head) {
      const PatternView view(pattern, sample, head, rows, columns);
      const Scores scores{queries, keys, bias, arguments.scale, sample, head};
      for (int64_t query = 0; query < rows; ++query) {
        double* out = made.data<double>() + ((sample * heads + head) * rows + query) * columns;
        weigh(scores, view, query, out);
        double sum = 0;
        for (int64_t key = 0; key < columns; ++key) sum += out[key];
        if (view.self_last && sum == 0) weigh_own_place(view, query, out);
      }
    }
  return made;
}

}  // namespace skein::kernels
