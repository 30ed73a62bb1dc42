// Small transformer blocks of each family, for tests of layers.
#pragma once

#include "skein/nn/stack.h"

#include "support/gradient_check.h"

namespace skein::test {

enum class Family { gpt2, post_norm, llama };

constexpr int64_t kWidth = 16;

inline BlockSpec small_block(Family family, bool sequence_parallel = false, double dropout = 0) {
  const bool llama = family == Family::llama;
  const int64_t heads = llama ? 8 : 4;  // in pairs over 4 key heads, for llama
  BlockSpec made;
  made.attention = {"",    0,      kWidth,  heads, 4,   kWidth / heads,   llama,
                    {100}, !llama, dropout, 0.3,   0.3, sequence_parallel};
  made.mlp = {"",     kWidth, 24,  llama ? MlpKind::swiglu : MlpKind::gelu_erf,
              !llama, 0.3,    0.3, sequence_parallel};
  made.norm = {"",   kWidth, llama ? ops::Norm::rms : ops::Norm::layer,
               1e-5, !llama, sequence_parallel};
  made.placement = family == Family::post_norm ? NormPlacement::post : NormPlacement::pre;
  made.dropout = dropout;
  return made;
}

// Start values; biases and gains too are random, since 0 and 1 hide how often they are applied.
inline void initialize_all(Parameters& parameters, bool gradients) {
  for (Parameter& p : parameters.all())
    if (p.shape.rank() == 1) p.start = {Start::normal, 0.5};
  parameters.allocate(gradients);
  parameters.initialize(9);
}

// [rows, length] i32: the column's number less first[row], at least 0
inline Tensor counted_positions(int64_t rows, int64_t length, const std::vector<int32_t>& first) {
  const Tensor made = Tensor::empty({rows, length}, DType::i32);
  for (int64_t i = 0; i < rows * length; ++i)
    made.data<int32_t>()[i] =
        std::max(0, static_cast<int32_t>(i % length) - first[static_cast<size_t>(i / length)]);
  return made;
}

}  // namespace skein::test
