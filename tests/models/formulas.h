// What models hold, keep and compute, by formulas of the papers: beside what their layers say.
#pragma once

#include "skein/models/bert/bert.h"
#include "skein/models/description.h"
#include "skein/models/flops.h"
#include "skein/models/gpt/gpt.h"

namespace skein::test {

inline double number(int64_t value) { return static_cast<double>(value); }

inline int64_t head_size(const ModelConfig& c, int64_t norm) {
  const bool decodes = c.head == Head::vocabulary, pooler = bert_options(c).pooler;
  const int64_t decoder = decodes && !c.tie_embeddings ? c.vocab_size * c.d_model : 0,
                dense = c.d_model * (c.d_model + 1);
  if (!is_bert(c))
    return decoder +
           (decodes ? (c.own.get<GptOptions>().value_head ? c.d_model + 1 : 0)
                    : c.labels * c.d_model) +
           (c.norm_placement == NormPlacement::pre ? norm : 0);
  const int64_t outputs = decodes ? 2 : c.labels;
  return decoder + (pooler ? dense : 0) + (decodes ? dense + norm + c.vocab_size : 0) +
         (pooler || !decodes ? outputs * (c.d_model + 1) : 0);
}

inline int64_t parameters_by_formula(const ModelConfig& c) {
  const int64_t out = c.n_heads * c.head_width(), keys = c.kv_heads() * c.head_width();
  const int64_t matrices = is_gated(c.activation) ? 3 : 2;
  const int64_t norm = c.norm == ops::Norm::layer && c.bias ? 2 * c.d_model : c.d_model;
  int64_t block = c.d_model * (2 * out + 2 * keys) + matrices * c.d_model * c.hidden() + 2 * norm;
  if (c.bias || c.attention_bias) block += out + 2 * keys + c.d_model;
  if (c.bias) block += (matrices - 1) * c.hidden() + c.d_model;
  int64_t whole = c.n_layers * block + (c.vocab_size + c.token_types) * c.d_model;
  if (c.positions == Positions::learned) whole += (c.context + c.position_offset) * c.d_model;
  if (c.embedding_norm) whole += norm;
  return whole + head_size(c, norm);
}

// Floating-point operations of forward and backward for one token of a sequence of `length`,
// recomputation not counted:
//   6 L (C D (H + 2G) + H D C + k C F)   projections and feed-forward; k = 2, or 3 with a gate
//   + A L H D T                          scores and weighted sums; A = 6 (half) or 12 (full, and of
//   encoders always)
//   + 6 C V                              head; of encoders 6 C (V + C) at 15% of the places, those
//   that are masked by default
// (Narayanan et al., "Efficient large-scale language model training on GPU clusters", 2021, without
// its recompute term.)
inline double block_flops_by_formula(const ModelConfig& m, int64_t length,
                                     AttentionCount count = AttentionCount::half) {
  const double width = number(m.d_model), heads = number(m.n_heads) * number(m.head_width());
  const double keys = number(m.kv_heads()) * number(m.head_width());
  const double matrices = is_gated(m.activation) ? 3 : 2;
  const double products =
      width * (heads + 2 * keys) + heads * width + matrices * width * number(m.hidden());
  const bool half = count == AttentionCount::half && !m.architecture->sees_ahead();
  return 6 * products + (half ? 6 : 12) * heads * number(length);
}

inline double head_flops_by_formula(const ModelConfig& m) {
  if (m.head != Head::vocabulary) return 0;
  if (!is_bert(m)) return 6 * number(m.d_model) * number(m.vocab_size);
  return 0.15 * 6 * number(m.d_model) * number(m.vocab_size + m.d_model);
}

inline double model_flops_by_formula(const ModelConfig& m, int64_t length,
                                     AttentionCount count = AttentionCount::half) {
  return number(m.n_layers) * block_flops_by_formula(m, length, count) + head_flops_by_formula(m);
}

struct ActivationShape {
  int64_t tokens = 0;  // of the micro-batches in flight together
  int64_t layers = 0;  // on this rank
  DType dtype = DType::f32;
  int tensor = 1;  // ranks that divide the matrices
  bool sequence = false;
  Recompute recompute = Recompute::none;
};

// Bytes kept by the blocks, in elements a token and layer, C being d_model, F the feed-forward
// width, H D and G D the widths of queries and of keys, t the tensor-parallel ranks, k = 2, or 3
// with a gate:
//   none       4 C (/ t with sequence parallelism) + (2 H D + 2 G D + k F) / t
//   selective  2 C (/ t with sequence parallelism)
//   full       C (/ t with sequence parallelism)
// and one block more of the first kind while a recomputed one is at work. At 16 bits and with
// F = 4 C, H D = G D = C this is 32 s b h: the 34 s b h of Korthikanti and others, "Reducing
// activation recomputation in large transformer models" (2022), with attention's weights never
// stored and dropout's masks drawn again.
inline double activation_bytes_by_formula(const ModelConfig& m, const ActivationShape& shape) {
  const double ranks = shape.tensor, stream = number(m.d_model) / (shape.sequence ? ranks : 1);
  const double matrices = is_gated(m.activation) ? 3 : 2;
  const double divided =
      2 * number(m.head_width()) * number(m.n_heads + m.kv_heads()) + matrices * number(m.hidden());
  const double whole = 4 * stream + divided / ranks;
  const double element = number(shape.tokens) * number(size_of(shape.dtype)),
               layers = number(shape.layers);
  switch (shape.recompute) {
    case Recompute::none: return element * layers * whole;
    case Recompute::selective: return element * (layers * 2 * stream + whole);
    case Recompute::full: return element * (layers * stream + whole);
  }
  return 0;
}

// The tensors of a model cut into its blocks and both ends.
inline TensorShapes by_pieces(const ModelConfig& c) {
  const auto last = static_cast<int>(c.n_layers);
  TensorShapes made = tensor_shapes(c, {0, 0, true, false, 0});
  made.merge(tensor_shapes(c, {last, last, false, true, 0}));
  for (int block = 0; block < last; ++block)
    made.merge(tensor_shapes(c, {block, block + 1, false, false, 0}));
  return made;
}

}  // namespace skein::test
