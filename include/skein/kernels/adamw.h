// One AdamW update in one pass (Loshchilov, Hutter, "Decoupled weight decay regularization", 2019).
#pragma once

#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

struct AdamWArguments {
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double gradient_scale = 1;  // multiplied into each gradient before anything else
  int64_t step = 1;           // from 1; for the bias corrections
  // [1] f64: squares of all gradients before scaling; undefined: the norm plays no part
  Tensor square_sum = {};
  double clip = 0;  // scaled gradients are shrunk to this norm where theirs is larger; 0: never
};

// What moves elements alike: gradient [n] in the accumulator dtype.
struct AdamWSlice {
  double lr = 0;
  double weight_decay = 0;  // decoupled: master -= lr * weight_decay * master
  Tensor gradient = {};
};
// [n] each: master, m and v, which have the gradient's dtype, are moved; working (any float dtype,
// may be undefined) receives the rounded new master.
struct AdamWOuts {
  Out master, m, v, working = {};
};

// Moves all slices, which have the same dtypes, each into what has its place in `to`. Where
// square_sum is not finite nothing changes; no device waits for the host to see that.
void adamw(Cpu, const AdamWArguments& arguments, const std::vector<AdamWSlice>& slices,
           const std::vector<AdamWOuts>& to);
void adamw(Cuda, const AdamWArguments& arguments, const std::vector<AdamWSlice>& slices,
           const std::vector<AdamWOuts>& to);

// Which random numbers round a tensor.
struct RoundingStream {
  uint64_t key = 0, stream = 0;
  int64_t first = 0;       // number of the tensor's first element in the stream
  Tensor square_sum = {};  // as adamw has it: where it is not finite nothing changes
};

// rounded (bf16) = values (f32): up or down to a neighbour with the probability that keeps the mean
// (Gupta and others, "Deep learning with limited numerical precision", 2015). Element i takes 16
// bits of the stream at first + i. Infinities and NaN stay what they are.
void stochastic_round(Cpu, const RoundingStream& stream, const Tensor& values, Out rounded);
void stochastic_round(Cuda, const RoundingStream& stream, const Tensor& values, Out rounded);

}  // namespace skein::kernels
