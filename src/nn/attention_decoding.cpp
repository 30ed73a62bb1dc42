// Self-attention of new tokens to those in a cache.
#include <algorithm>

#include "skein/nn/attention.h"

#include "counted.h"

namespace skein {
namespace {

// Rows [first, first + count) of x [B,S,G,D], seen as [B*S,G,D], as those of one sample.
Tensor rows_of(const Tensor& x, int64_t first, int64_t count) {
  const int64_t size = x.dim(2) * x.dim(3);
  return x.flat(first * size, count * size).reshape({1, count, x.dim(2), x.dim(3)});
}

// Of a row of a cache: `keys` tokens from row `from` of [B*S] on, of which the last `asked` ask,
// from row `at` of [B*T] on.
struct CachedRow {
  int64_t from, keys, at, asked;
};

// Like q [B,T,H,D], of f(row) [1,A,H,D] for each row of the cache; 0 for padding.
template <class F>
Tensor by_row(const Tensor& q, int64_t columns, const Pass& pass, const F& f) {
  const Tensor begins = pass.cache->first_key.to(Device{}), made = q.like();
  const int64_t queries = q.dim(1);
  made.fill_zero();
  for (int64_t row = 0; row < q.dim(0); ++row) {
    const int64_t first = begins.data<int32_t>()[row], keys = pass.cache->length + queries - first,
                  asked = std::min(queries, keys), at = (row + 1) * queries - asked;
    rows_of(made, at, asked).copy_from(f(CachedRow{row * columns + first, keys, at, asked}));
  }
  return made;
}

}  // namespace

// Blocks and marks count from where a row begins, so there each row is looked at alone.
Var Attention::decode(const Var& q, const KeysAndValues& own, const Var& bias,
                      const Pass& pass) const {
  pass.cache->append(spec_.block, own.k.value(), own.v.value());
  const auto& layer = pass.cache->layers[spec_.block];
  ops::AttentionArguments how = arguments(q.shape()[2], pass);
  if (spec_.sight.kind == SightKind::full || spec_.sight.kind == SightKind::window) {
    how.pattern = own_pattern(q, pass.cache->length - layer.first, how.first_head);
    how.pattern.first_key = layer.begins(*pass.cache);
    how.pattern.prefix = pass.batch->prefix;
    return ops::attention(q, Var(layer.keys), Var(layer.values), how, bias);
  }
  return Var(by_row(q.value(), layer.keys.dim(1), pass, [&](const CachedRow& row) {
    return decode_row(rows_of(q.value(), row.at, row.asked),
                      rows_of(layer.keys, row.from, row.keys),
                      rows_of(layer.values, row.from, row.keys), how);
  }));
}

// q [1,T,H,D], the last T of S tokens; keys and values [1,S,G,D].
Tensor Attention::decode_row(const Tensor& q, const Tensor& keys, const Tensor& values,
                             ops::AttentionArguments how) const {
  const KeysAndValues seen{Var(keys), Var(values)};
  how.pattern = own_pattern(Var(q), keys.dim(1) - q.dim(1), how.first_head);
  if (!marks()) return ops::attention(Var(q), seen.k, seen.v, how).value();
  data::Sequence row;
  row.tokens = Tensor::zeros({1, keys.dim(1)}, DType::i32);
  const Tensor marks = marks_of(spec_.sight.marks, row);
  how.pattern.marked = marks.to(q.device());
  const Var near = ops::attention(Var(q), seen.k, seen.v, how);
  return with_marked(near, marked_of(marks, Var(q), seen), how).value();
}

// The cache holds what was hashed. A prompt is looked at row by row, and so are blocks, which are
// of all of a row's tokens.
Var Attention::decode_hashed(const Var& q, const Var& v, const Pass& pass) const {
  const ops::AttentionArguments how = arguments(q.shape()[2], pass);
  hashed_->append(*pass.cache, q.value(), v.value(), how.first_head);
  if (spec_.sight.same_bucket && pass.cache->length > 0)
    return Var(
        hashed_->decode(*pass.cache, q.shape()[1], spec_.rotary ? &spec_.waves : nullptr, how));
  const auto& layer = pass.cache->layers[spec_.block];
  return Var(by_row(q.value(), layer.keys.dim(1), pass, [&](const CachedRow& row) {
    const Tensor known = rows_of(layer.keys, row.from, row.keys),
                 values = rows_of(layer.values, row.from, row.keys);
    const HashedRows rows =
        hashed_->order(rows_of(layer.buckets, row.from, row.keys), {}, row.asked);
    const Var asking =
        spec_.rotary
            ? ops::rotary(Var(known), counted(1, 0, row.keys).to(known.device()), spec_.waves)
            : Var(known);
    return (*hashed_)(asking, Var(values), rows, how).value();
  }));
}

}  // namespace skein
