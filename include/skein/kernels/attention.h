// Scaled dot-product attention with grouped queries, in tiles: no T×S matrix in memory.
#pragma once

#include "skein/kernels/pattern.h"

namespace skein::kernels {

struct AttentionArguments {
  double scale = 1;  // of the products, usually 1/sqrt(D)
  Pattern pattern;
  // What is added to the scaled products, in their accumulator type: by distance [P,H,T+S-1], where
  // element j - i + T - 1 is that of query i and key j, or dense [P,H,T,S]. Sample b of B takes row
  // b · P / B; B is a multiple of P. Undefined: nothing.
  Tensor bias;
  double dropout = 0;        // probability that a weight is dropped
  uint64_t dropout_key = 0;  // of seed, step and site
  Tensor sample_ids;         // [B] i64, keys of the dropout stream; needed when dropout > 0
  int64_t first_head = 0;    // global number of q's first head, for the dropout stream
};

// Dropout of key s of query t of global head h is number h << kDropoutHead | t << kDropoutQuery | s
// of its sample's stream, whatever T and S are: a mask does not know how long its row is padded.
constexpr int kDropoutHead = 44, kDropoutQuery = 22;

// q, out [B,T,H,D]; k, v [B,S,G,D] with H a multiple of G. A query of head h attends to the keys of
// head h / (H/G) that it sees; where it sees none it gives 0. level [B,H,T] (accumulator type) is
// log Σ exp(score) over them, -inf where there are none; backward needs it. Dao and others,
// "FlashAttention" (2022). Memory grows with T and S, time with the pairs that are seen.
void attention(Cpu, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out level);
void attention(Cuda, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out level);

// What forward was given and made.
struct AttentionRecord {
  Tensor q, k, v;          // [B,T,H,D], [B,S,G,D], [B,S,G,D]
  Tensor out, level = {};  // [B,T,H,D], [B,H,T]
};

// Of what forward made; that of the level undefined where nobody used it.
struct AttentionGradient {
  Tensor out, level = {};  // [B,T,H,D], [B,H,T]
};

// Shaped as q, k, v and the bias, whose is undefined where it is not asked for: 0 for queries that
// see nothing and keys that none sees. That of the bias is summed over the samples that share it,
// in their order.
struct AttentionOuts {
  Out q, k, v, bias = {};
};

void attention_backward(Cpu, const AttentionRecord& forward, const AttentionArguments& arguments,
                        const AttentionGradient& gradient, const AttentionOuts& to);
void attention_backward(Cuda, const AttentionRecord& forward, const AttentionArguments& arguments,
                        const AttentionGradient& gradient, const AttentionOuts& to);

}  // namespace skein::kernels
