// Scaled dot-product attention with grouped queries, in tiles: no T×T matrix in memory.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein::kernels {

struct AttentionArguments {
  double scale = 1;         // of the scores, usually 1/sqrt(D)
  int64_t first_query = 0;  // position of q's first row among the keys (decoding with a cache)
  Tensor segments;          // [B,T] i32: keys of other segments are masked; undefined: none are
  Tensor first_key;    // [B] i32: keys before it are masked (left padding); undefined: none are
  bool causal = true;  // keys after a query are masked, and the work on them skipped
  int64_t window = 0;  // keys `window` or more positions away are masked; 0: none are
  double dropout = 0;  // probability that a weight is dropped
  uint64_t dropout_key = 0;  // of seed, step and site
  Tensor sample_ids;         // [B] i64, keys of the dropout stream; needed when dropout > 0
  int64_t first_head = 0;    // global number of q's first head, for the dropout stream
};

// Dropout of key s of query t of global head h is number h << kDropoutHead | t << kDropoutQuery | s
// of its sample's stream, whatever T and S are: a mask does not know how long its row is padded.
constexpr int kDropoutHead = 44, kDropoutQuery = 22;

// q, out [B,T,H,D]; k, v [B,S,G,D] with H a multiple of G and, if causal, S >= first_query + T.
// Query t of head h is at position first_query + t and attends to the keys of head h / (H/G) that
// no mask hides; where all are hidden it gives 0. logsumexp [B,H,T] (accumulator type) is kept for
// backward. Dao and others, "FlashAttention" (2022).
void attention(Cpu, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, const Tensor& out, const Tensor& logsumexp);
void attention(Cuda, const Tensor& q, const Tensor& k, const Tensor& v,
               const AttentionArguments& arguments, const Tensor& out, const Tensor& logsumexp);

// Overwrites dq, dk, dv, shaped as q, k, v. first_query must be 0 and S == T.
void attention_backward(Cpu, const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionArguments& arguments, const Tensor& out,
                        const Tensor& logsumexp, const Tensor& dout, const Tensor& dq,
                        const Tensor& dk, const Tensor& dv);
void attention_backward(Cuda, const Tensor& q, const Tensor& k, const Tensor& v,
                        const AttentionArguments& arguments, const Tensor& out,
                        const Tensor& logsumexp, const Tensor& dout, const Tensor& dq,
                        const Tensor& dk, const Tensor& dv);

}  // namespace skein::kernels
