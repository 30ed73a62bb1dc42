// Which tokens a token sees in self-attention of a sequence.
#pragma once

#include <vector>

#include "skein/data/samples/batch.h"
#include "skein/kernels/pattern.h"
#include "skein/ops/embedding.h"

namespace skein {

// full     all, or all before it (causal)
// window   those near it
// global   those near it and those that are marked, which see all (Beltagy and others, 2020:
//          "Longformer")
// bigbird  blocks: the first and the last one, its own and both neighbours, and some that are drawn
//          once for all (Zaheer and others, "Big Bird", 2020)
// fixed    blocks: all of its stretch of blocks, and the last one of each other stretch (Child and
//          others, "Generating long sequences with sparse transformers", 2019)
// lsh      those whose vectors hash to its bucket: nn/hashed_sight.h
// A causal one sees nothing that is after it, and so no last block.
enum class SightKind { full, window, global, bigbird, fixed, lsh };

// Of each sample: its first tokens, every n-th, those of an id, and all up to the first of an id.
struct MarkRule {
  int64_t first = 1;
  int64_t every = 0;   // 0: none
  int64_t token = -1;  // below 0: none
  int64_t until = -1;  // below 0: none; none of a sample, either, that has no such token

  bool marks_nothing() const { return first == 0 && every == 0 && token < 0 && until < 0; }
  bool operator==(const MarkRule&) const = default;
};

struct SightSpec {
  SightKind kind = SightKind::full;
  // Of window, global and lsh in its bucket: places that a causal token sees, its own and those
  // right before it; other tokens see half of it, which is even, on each side.
  int64_t window = 0;
  MarkRule marks = {};
  int64_t block = 64;   // tokens of a block
  int64_t random = 3;   // of bigbird: blocks drawn for each head and each block of tokens
  bool drawn = true;    // false: the first block counts so many times more instead
  int64_t stretch = 8;  // of fixed: blocks
  // Of lsh: rounds of hashing, and the digits of a bucket's number (kernels/hashing.h).
  int64_t rounds = 2;
  std::vector<int64_t> sides = {};
  bool same_bucket = true;  // false: tokens see blocks of the order of buckets

  bool operator==(const SightSpec&) const = default;
};

// Attention of heads [first_head, first_head + heads) in a block of the model, by queries that
// stand behind first_query earlier tokens. Beyond the first of them there may be one query only.
struct SightShape {
  int64_t queries = 0, first_query = 0;
  int block = 0;
  int64_t first_head = 0, heads = 1;

  bool operator==(const SightShape&) const = default;
};

// What the spec says but for marked queries. Its tensors are in host memory; there are none
// where nothing but a band is to be said. Not of lsh. A bigbird of no more than 5 + 2 random blocks
// that is not causal sees all, as the models of its authors do.
kernels::Pattern pattern_of(const SightSpec& spec, bool causal, const SightShape& shape);

// [B,T] i32 in host memory, of segments [B,T] i32 there: of each token the place in its row where
// its segment begins. Padding is one, too, but for a causal sight, which sees nothing of what is
// behind it. Undefined where all are 0 or there are no segments.
Tensor begins_of(const Tensor& segments, bool causal = false);
// Of a pattern of so many queries that has lists: lists of the blocks of each segment, as if it
// stood alone in a row. In host memory.
kernels::BlockLists lists_of_segments(const SightSpec& spec, bool causal, const SightShape& shape,
                                      const Tensor& begins);

// How many keys a query of so many sees, on average; of more than 131,072 as of so many.
double keys_per_query(const SightSpec& spec, bool causal, int64_t length);
// Whether it sees less than a full one does.
bool saves(const SightSpec& spec, bool causal, int64_t length);

// [B,T] i32 in host memory, 1 where a token that is no padding is marked. Tokens are counted from
// the beginning of their segment.
Tensor marks_of(const MarkRule& rule, const data::Sequence& sequence);

// The marked rows of [B,T,C], M of each sample, behind which there is nothing where a sample has
// less.
struct MarkedRows {
  int64_t most = 0;         // M
  Tensor tokens;            // [B,M] i32 in host memory: which of B*T; -1: none
  ops::RowChoice taken;     // of [B,T,C]: [B,M,C]
  ops::RowChoice put_back;  // of the rows of [B,T,C] and behind them those of [B,M,C]: [B,T,C]
  Device device;
};
// marks [B,T] i32 in host memory.
MarkedRows marked_rows(const Tensor& marks, Device device);
// Numbers of tokens [B,T] i32 at the marked rows, on their device: [B,M], `otherwise` behind them.
Tensor at_rows(const Tensor& of_tokens, const MarkedRows& rows, int32_t otherwise);
// y [B,T,C] with rows of `marked` [B,M,C] in their places.
Var with_rows(const Var& y, const Var& marked, const MarkedRows& rows);

}  // namespace skein
