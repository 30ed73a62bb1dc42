// Tokens drawn from logits, where the logits are.
#pragma once

#include <limits>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

struct SampleArguments {
  double temperature = 1;  // 0: the likeliest id, always
  int64_t top_k = 0;       // only the k likeliest; 0: all
  double top_p = 1;        // of these only the smallest set whose probabilities reach p
};

// Instead of an id, for a row from which nothing can be drawn; -1 - i where logit i is the first
// NaN.
constexpr int32_t kLargestIsInfinite = std::numeric_limits<int32_t>::min(),
                  kAllAreMinusInfinite = kLargestIsInfinite + 1;

// ids [B] i32: for each row of logits [B,V] f32 one of the first `valid` ids, drawn from
// softmax(logits / temperature), cut by top_k, then by top_p (Holtzman et al., "The curious case of
// neural text degeneration", 2020), or one of the faults above. uniforms [B] f64 in [0, 1): the
// part of the kept probabilities at which the draw falls. Below 0: the row is not read, its id is
// 0.
//
// Ids stand from likely to unlikely, equal logits by the lower id, and -0 equals 0; cuts and draws
// follow that order. A draw without cuts follows the ids themselves. The CPU adds probabilities as
// f64. CUDA adds them as integers, in units of 2^-46 of the likeliest one's at 50257 ids (2^-62
// times valid, rounded up to a power of two), so in any order; it takes the CPU's id unless a sum
// comes closer to a cut or the draw than those roundings.
void sample(Cpu, const Tensor& logits, int64_t valid, const SampleArguments& arguments,
            const Tensor& uniforms, Out ids);
void sample(Cuda, const Tensor& logits, int64_t valid, const SampleArguments& arguments,
            const Tensor& uniforms, Out ids);

}  // namespace skein::kernels
