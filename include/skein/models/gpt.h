// Decoder-only language models: GPT-2 and GPT-3 (learned positions, layer norm, GELU) to Llama (rotary
// positions, RMS norm, SwiGLU, grouped queries) by options alone.
//
// Tensors, by global name (C = d_model, F = d_ff, H heads, G key heads, D head width):
//   embedding.tokens.weight [V,C]   embedding.positions.weight [context,C] (learned positions)
//   block.i.norm_1.gain/bias [C]    block.i.attention.q.weight [H*D,C], .k/.v [G*D,C], .out [C,H*D], .bias [rows]
//   block.i.norm_2.gain/bias [C]    block.i.mlp.up.weight [F,C], .gate [F,C] (swiglu), .down [C,F], .bias [rows]
//   final_norm.gain/bias [C] (pre-norm)   head.weight [V,C] (untied)
#pragma once

#include <memory>

#include "skein/core/options.h"
#include "skein/models/model.h"
#include "skein/nn/stack.h"
#include "skein/ops/loss.h"

namespace skein {

enum class Positions { learned, sinusoidal, rotary };

struct GptConfig {
  int64_t vocab_size = 0;  // 0: the tokenizer's
  int64_t context = 256;
  int64_t d_model = 256;
  int64_t n_layers = 4;
  int64_t n_heads = 4;
  int64_t n_kv_heads = 0;  // 0: n_heads
  int64_t d_head = 0;      // 0: d_model / n_heads
  int64_t d_ff = 0;        // 0: 4 d_model
  Positions positions = Positions::learned;
  double rope_theta = 10000;
  ops::Norm norm = ops::Norm::layer;
  NormPlacement norm_placement = NormPlacement::pre;
  double norm_epsilon = 1e-5;
  MlpKind activation = MlpKind::gelu_tanh;
  bool bias = true;
  bool tie_embeddings = true;
  double dropout = 0;
  double init_std = 0.02;
  int64_t window = 0;      // a token attends to the last `window` places, its own included; 0: to all before it

  int64_t kv_heads() const { return n_kv_heads ? n_kv_heads : n_heads; }
  int64_t head_width() const { return d_head ? d_head : d_model / n_heads; }
  int64_t hidden() const { return d_ff ? d_ff : 4 * d_model; }
  // Learned numbers in the whole model, tied tensors once.
  int64_t parameters() const;
};

// Binds every field under section "model".
void bind(Options& options, GptConfig& config);
// Usage errors for sizes that cannot be, alone or with `tensor_parallel` shards: both values and what to change.
void check(const GptConfig& config, int tensor_parallel, bool sequence_parallel);

// Which piece of the model a rank builds.
struct GptPiece {
  int first_block = 0, last_block = 0;  // [first, last)
  bool embeds = true;                   // has the embedding: the first piece
  bool predicts = true;                 // has the head: the last piece
  int chunk = 0;
};

class Gpt : public Model {
 public:
  // parameters outlives the model and receives its tensors.
  Gpt(const GptConfig& config, const GptPiece& piece, bool sequence_parallel, Parameters& parameters);
  Var forward(const Var& flow, const Pass& pass) const override;
  Shape flow_shape(int64_t batch, int64_t length) const override;
  // On the piece with the head: logits [M, V/t] of features [M,C], the result of its forward.
  Tensor logits(const Tensor& features) const;
  const Parameter& head() const { return *head_; }
  // Columns of the logits that this rank holds.
  ops::VocabShard vocab_shard() const;

 private:
  Var embed(const Pass& pass) const;
  Var features(const Var& hidden, const Pass& pass) const;

  GptConfig config_;
  bool sequence_parallel_;
  int shards_;
  Parameter* tokens_ = nullptr;
  Parameter* positions_ = nullptr;
  std::unique_ptr<Stack> stack_;
  std::unique_ptr<NormLayer> final_norm_;
  Parameter* head_ = nullptr;
};

// Mean cross entropy of the next token over all places whose weight is not 0.
class NextToken : public Objective {
 public:
  explicit NextToken(const Gpt& last_piece) : model_(last_piece) {}
  Losses losses(const Var& output, const Pass& pass) const override;

 private:
  const Gpt& model_;
};

}  // namespace skein
