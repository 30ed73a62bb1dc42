// What a micro-batch is made of: plain tensors, made on the host.
#pragma once

#include "skein/tensor/tensor.h"

namespace skein {

struct Batch {
  Tensor tokens;      // [B,T] i32, token ids
  Tensor targets;     // [B,T] i32, the token to predict at each place
  Tensor weights;     // [B,T] f32, 0 where a place does not count in the loss, else 1
  Tensor positions;   // [B,T] i32, position fed to the embedding or rotation
  Tensor segments;    // [B,T] i32, document number inside the sample; attention stays inside equal numbers.
                      // Undefined when attention may cross documents.
  Tensor sample_ids;  // [B] i64, number of the sample in the run's stream: the key of its dropout masks

  int64_t size() const { return tokens.dim(0); }
  int64_t length() const { return tokens.dim(1); }
};

// The batch on a device; weights stay on the host, where losses are weighed.
inline Batch placed(const Batch& batch, Device device) {
  Batch made = batch;
  for (Tensor* tensor : {&made.tokens, &made.targets, &made.positions, &made.segments, &made.sample_ids})
    if (tensor->defined()) *tensor = tensor->to(device);
  return made;
}

}  // namespace skein
