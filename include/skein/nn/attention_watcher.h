// Looks at attention, and at hidden states, while a model is at work.
#pragma once

#include "skein/data/samples/batch.h"
#include "skein/kernels/attention.h"
#include "skein/kernels/links.h"

namespace skein {

// What a layer is about to do, on one rank.
struct SeenAttention {
  int block = 0;        // in the whole model
  bool memory = false;  // whether it looks at another sequence
  // [B,T,H,D], [B,S,G,D]: of this rank's heads, whose first one is arguments.first_head of all
  const Tensor &q, &k;
  const kernels::AttentionArguments& arguments;
};

// What a layer that attends over links has weighed, on one rank.
struct SeenLinks {
  int block = 0;
  const Tensor& weights;        // [E,H]: of this rank's heads
  const kernels::Links& links;  // of the batch, whose samples have equally many rows each
  const data::Batch& batch;
  int64_t first_head = 0;  // the rank's first one of all
};

// What a sublayer leaves, on one rank; the last one's of a block is what leaves the block.
struct SeenStates {
  int block = 0;         // -1: what enters the first one, of models of graphs
  const Tensor& states;  // [B,T,C]
  const data::Batch& batch;
};

// Named by Pass::watcher, it is told of each layer of attention on the way forward, in their order;
// of decoding with a cache it is told nothing.
class AttentionWatcher {
 public:
  virtual ~AttentionWatcher() = default;
  virtual void see(const SeenAttention& seen) = 0;
  virtual void see(const SeenLinks& seen) = 0;
  virtual void see(const SeenStates& /*seen*/) {}
};

}  // namespace skein
