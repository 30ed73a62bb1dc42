// Attention among tokens whose vectors have a bucket in common, in one of several rounds of hashing
// (Kitaev and others, "Reformer", 2020). A token's query is its key, too, but for its length.
#pragma once

#include "skein/nn/kv_cache.h"
#include "skein/nn/parameter.h"
#include "skein/nn/sight.h"
#include "skein/ops/attention.h"

namespace skein {

// [H,R,D,P] f32 of a normal distribution, for heads [first_head, first_head + H) of a block of the
// model and P half the sum of the sides: of no run, so that a model sees the same wherever it goes.
Tensor rotations_of(const SightSpec& spec, int block, int64_t first_head, int64_t heads,
                    int64_t width, Device device);

// Queries and keys of B samples and H heads in the order in which they look at each other: one
// sample of one head each, all rounds one behind the other, padding at the end.
//
// A round's tokens are in the order of document, bucket and place. same_bucket: a query sees the
// nearest ones of its bucket. Otherwise (as Reformer's authors do) these are cut into blocks, of
// which each sees the one before it and itself, the first one the last. Samples of no more than a
// block of tokens then have one round. A query sees its own token only where it sees no other.
struct HashedRows {
  ops::RowChoice queries, keys;          // of B*T*H rows
  int64_t query_rows = 0, key_rows = 0;  // of each sample and head
  kernels::Pattern pattern;
  Tensor parts;  // [R,B*A*H] i32: where the rounds of the last A tokens are among the queries
};
// In blocks. buckets [B,T,H,R] and segments [B,T] (which may be undefined) i32 in host memory;
// negative segments are padding. Of all T tokens, or the last `asked` of them.
HashedRows hashed_rows(const SightSpec& spec, bool causal, const Tensor& buckets,
                       const Tensor& segments, int64_t asked, Device device);

struct HashedSpec {
  SightSpec sight;
  bool causal = true;
  int block = 0;  // of the model
  int64_t head_width = 0;
};

// Keys are queries over their root mean square.
class HashedSight {
 public:
  HashedSight(const Parameters& parameters, const HashedSpec& spec);
  // [B,T,H,R] i32 of x [B,T,H,D].
  Tensor buckets(const Tensor& x, int64_t first_head) const;
  // Of these buckets; segments [B,T] i32 or undefined, negative for padding. `asked` are all tokens
  // where those of a bucket see each other.
  HashedRows order(const Tensor& buckets, const Tensor& segments, int64_t asked) const;
  // q, v [B,T,H,D] -> [B,A,H,D]. how: of q's heads and samples; its pattern is not read.
  Var operator()(const Var& q, const Var& v, const HashedRows& rows,
                 const ops::AttentionArguments& how) const;

  // Appends x, v [B,T,H,D] to the block's layer, with the buckets of x.
  void append(KvCache& cache, const Tensor& x, const Tensor& v, int64_t first_head) const;
  // [B,A,H,D] of the last A = `asked` tokens, which were appended but are not yet part of the
  // cache's length, among those of their buckets. `waves`, if any, turn tokens by their places. Its
  // time grows with the keys that are seen, but for one look at each bucket's number.
  Tensor decode(const KvCache& cache, int64_t asked, const kernels::RotaryWaves* waves,
                const ops::AttentionArguments& how) const;

 private:
  // By [sets,rows,1,D] each.
  struct Chosen {
    Var q, k, v;
  };

  Tensor rotations(const Tensor& x, int64_t first_head) const;
  HashedRows in_buckets(const Tensor& buckets, const Tensor& segments) const;
  // Of a bucket's tokens, one behind the other.
  kernels::Pattern bucket_pattern() const;
  Var keys_of(const Var& q) const;
  // Rows [N,D] of the parts.
  Var merged(const Chosen& rows, const Tensor& parts, const ops::AttentionArguments& how) const;

  HashedSpec spec_;
  WeightMemory ones_;  // [D]
  // Those that were asked for last, of these heads.
  mutable Tensor rotations_;
  mutable int64_t first_head_ = 0;
};

// How many buckets there are.
int64_t buckets_of(const SightSpec& spec);

// How many keys a query of so many sees on average, in all rounds, if buckets are of equal size.
double hashed_keys_per_query(const SightSpec& spec, bool causal, int64_t length);

}  // namespace skein
