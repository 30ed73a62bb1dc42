// Small transformer blocks of each family, for tests of layers.
#pragma once

#include "skein/nn/stack.h"

#include "support/gradient_check.h"

namespace skein::test {

// decoder: gpt2 that looks at a memory of the same width too. qwen: llama with norms of heads and
// biases of all but attention's result. parallel: gpt2 whose branches read what enters a block,
// half of each head being turned. gemma: llama with norms of heads and of what branches make, whose
// gains are 1 + what is learnt.
enum class Family { gpt2, post_norm, llama, decoder, qwen, parallel, gemma };

constexpr int64_t kWidth = 16;

inline BlockSpec small_block(Family family, bool sequence_parallel = false, double dropout = 0) {
  const bool qwen = family == Family::qwen, gemma = family == Family::gemma,
             llama = family == Family::llama || qwen || gemma;
  const int64_t heads = llama ? 8 : 4;  // in pairs over 4 key heads, for llama
  AttentionSpec attention{"",    0,      kWidth,  heads, 4,   kWidth / heads,   llama,
                          {100}, !llama, dropout, 0.3,   0.3, sequence_parallel};
  if (qwen) {
    attention.bias = true;
    attention.out_bias = false;
    attention.head_norm = 1e-5;
  }
  if (gemma) {
    attention.head_norm = 1e-5;
    attention.head_norm_kind = ops::Norm::rms_zero_centered;
  }
  if (family == Family::parallel) {
    attention.rotary = true;
    attention.waves.width = 2;
  }
  const MlpSpec mlp{"",     kWidth, 24,  llama ? MlpKind::swiglu : MlpKind::gelu_erf,
                    !llama, 0.3,    0.3, sequence_parallel};
  const ops::Norm kind = gemma   ? ops::Norm::rms_zero_centered
                         : llama ? ops::Norm::rms
                                 : ops::Norm::layer;
  const NormSpec norm{"", kWidth, kind, 1e-5, !llama, sequence_parallel};
  const NormPlacement placement = gemma                         ? NormPlacement::sandwich
                                  : family == Family::post_norm ? NormPlacement::post
                                                                : NormPlacement::pre;
  BlockSpec made = attention_and_mlp(attention, mlp, norm, placement, dropout);
  std::get<MlpSpec>(made.sublayers.back().branch).dropout = dropout;
  made.parallel = family == Family::parallel;
  if (family != Family::decoder) return made;
  SublayerSpec second = made.sublayers[0];
  second.norm.name = "norm_memory";
  auto& to_memory = std::get<AttentionSpec>(second.branch);
  to_memory.name = "memory";
  to_memory.memory_width = kWidth;
  made.sublayers.insert(made.sublayers.begin() + 1, second);
  return made;
}

// Two of them.
inline std::vector<BlockSpec> small_blocks(Family family, bool sequence_parallel = false,
                                           double dropout = 0) {
  return std::vector<BlockSpec>(2, small_block(family, sequence_parallel, dropout));
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

inline Tensor two_rows(const std::vector<int32_t>& values) {
  return Tensor::from(values, {2, static_cast<int64_t>(values.size()) / 2});
}

}  // namespace skein::test
