// What a forward pass keeps for its backward.
#pragma once

#include "skein/models/config.h"

namespace skein {

struct ActivationShape {
  int64_t tokens = 0;  // of the micro-batches in flight together
  int64_t layers = 0;  // on this rank
  DType dtype = DType::f32;
  int tensor = 1;  // ranks that divide the matrices
  bool sequence = false;
  Recompute recompute = Recompute::none;
};

// Bytes kept by the blocks, in elements a token and layer, C being d_model, F the feed-forward
// width, H D and G D the widths of queries and of keys, t the tensor-parallel ranks:
//   none       4 C (/ t with sequence parallelism) + (2 H D + 2 G D + k F) / t     k = 2, or 3 for
//   swiglu selective  2 C (/ t with sequence parallelism) full       C (/ t with sequence
//   parallelism)
// and one block more of the first kind while a recomputed one is at work. At 16 bits, F = 4 C, H D
// = G D = C this is 32 s b h: the 34 s b h of Korthikanti and others, "Reducing activation
// recomputation in large transformer models" (2022), with attention's weights never stored and
// dropout's masks drawn again.
double activation_bytes(const ModelConfig& model, const ActivationShape& shape);

}  // namespace skein
