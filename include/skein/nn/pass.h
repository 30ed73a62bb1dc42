// All that a forward pass needs besides its input.
#pragma once

#include <cstdint>
#include <functional>

#include "skein/comm/group.h"
#include "skein/data/samples/batch.h"
#include "skein/nn/kv_cache.h"

namespace skein {

class AttentionWatcher;

enum class Recompute { none, selective, full };

struct Pass {
  Group* tp = nullptr;             // tensor-parallel ranks
  bool sequence_parallel = false;  // activations between split products are divided over positions
  bool train = false;              // dropout applies
  uint64_t seed = 0;               // of the run
  int64_t step = 0;                // with seed and site, the key of dropout masks
  Recompute recompute = Recompute::none;
  const data::Batch* batch = nullptr;  // positions, segments, sample ids
  // What the layers at work read: the batch's source; null: the batch itself.
  const data::Sequence* reads = nullptr;
  // decoding: keys and values of earlier tokens; logits of the last position only
  KvCache* cache = nullptr;
  AttentionWatcher* watcher = nullptr;  // null: nobody looks
  // Called in backward as it proceeds: the gradients of all buckets of this piece from number
  // `bucket` on hold what this pass adds to them. Empty: nobody asks.
  std::function<void(int bucket)> gradients_done = {};

  const data::Sequence& sequence() const { return reads ? *reads : *batch; }
  // The same pass for work in which every rank holds all positions.
  Pass whole() const { return divided(false); }
  // The same pass, divided over positions only where the model is.
  Pass divided(bool model) const;
  // The key of one dropout site: block (or -1 for the embedding) and number in it.
  uint64_t dropout_key(int block, int site) const;
};

}  // namespace skein
