// What attention() multiplies values by, as numbers to look at.
#pragma once

#include "skein/kernels/attention.h"

namespace skein::kernels {

// Weights [B,H,T,S] f64 in host memory, for q [B,T,H,D] and k [B,S,G,D] on any device: of each
// query that sees a key they add up to 1, and a key that counts m times has the weight of all m. By
// the definition, pair by pair, and without dropout: slow, and T×S numbers.
Tensor attention_weights(const Tensor& q, const Tensor& k, const AttentionArguments& arguments);

}  // namespace skein::kernels
