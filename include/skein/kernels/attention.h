// Scaled dot-product attention with grouped queries, in tiles: no T×S matrix in memory.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Which keys a query sees. Query t of T is at position first_query + t among the S keys; it may lie
// beyond the last of them.
struct Mask {
  bool causal = true;  // keys after a query are masked, and the work on them skipped
  int64_t window = 0;  // keys `window` or more positions away are masked; 0: none are
  // [B,T] and [B,S] i32, both or neither: a query sees the keys of its own segment only
  Tensor query_segments = {}, key_segments = {};
  int64_t first_query = 0;  // above 0 when decoding with a cache
  Tensor first_key = {};  // [B] i32: keys before it are masked (left padding); undefined: none are
};

struct AttentionArguments {
  double scale = 1;  // of the scores, usually 1/sqrt(D)
  Mask mask;
  double dropout = 0;        // probability that a weight is dropped
  uint64_t dropout_key = 0;  // of seed, step and site
  Tensor sample_ids;         // [B] i64, keys of the dropout stream; needed when dropout > 0
  int64_t first_head = 0;    // global number of q's first head, for the dropout stream
};

// Dropout of key s of query t of global head h is number h << kDropoutHead | t << kDropoutQuery | s
// of its sample's stream, whatever T and S are: a mask does not know how long its row is padded.
constexpr int kDropoutHead = 44, kDropoutQuery = 22;

// q, out [B,T,H,D]; k, v [B,S,G,D] with H a multiple of G. A query of head h attends to the keys of
// head h / (H/G) that the mask leaves it; where it leaves none it gives 0. logsumexp [B,H,T]
// (accumulator type) is kept for backward. Dao and others, "FlashAttention" (2022).
void attention(Cpu, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out logsumexp);
void attention(Cuda, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, Out out, Out logsumexp);

// What forward was given and made.
struct AttentionRecord {
  Tensor q, k, v;         // [B,T,H,D], [B,S,G,D], [B,S,G,D]
  Tensor out, logsumexp;  // [B,T,H,D], [B,H,T]
};

// dq, dk, dv, shaped as q, k, v, of dout [B,T,H,D]: 0 for queries that see nothing and keys that
// none sees.
void attention_backward(Cpu, const AttentionRecord& forward, const AttentionArguments& arguments,
                        const Tensor& dout, Out dq, Out dk, Out dv);
void attention_backward(Cuda, const AttentionRecord& forward, const AttentionArguments& arguments,
                        const Tensor& dout, Out dq, Out dk, Out dv);

}  // namespace skein::kernels
