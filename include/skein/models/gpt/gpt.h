// Decoder-only language models: GPT-2 and GPT-3 (learned positions, layer norm, GELU) to Llama
// (rotary positions, RMS norm, SwiGLU, grouped queries) by options alone.
//
// Tensors, by global name (C = d_model, F = d_ff, H heads, G key heads, D head width):
//   embedding.tokens.weight [V,C]   embedding.positions.weight [context,C] (learned positions)
//   block.i.norm_1.gain/bias [C]    block.i.attention.q.weight [H*D,C], .k/.v [G*D,C], .out
//   [C,H*D], .bias [rows] block.i.norm_2.gain/bias [C]    block.i.mlp.up.weight [F,C], .gate [F,C]
//   (swiglu), .down [C,F], .bias [rows] final_norm.gain/bias [C] (pre-norm)   head.weight [V,C]
//   (untied)   classifier.weight [labels,C] (heads of labels) value.weight [1,C], value.bias [1]
//   (value_head)
#pragma once

#include <optional>

#include "skein/models/labels.h"
#include "skein/models/trunk.h"
#include "skein/ops/loss.h"

namespace skein {

class Gpt : public Model, public Labelled {
 public:
  // parameters outlives the model and receives its tensors.
  Gpt(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
      Parameters& parameters);
  // With a vocabulary head the last piece gives features [M,C] of all places, or of the last one of
  // each sequence when decoding; with another head hidden states [B,T,C]. Both are divided by the
  // width ratio of muP.
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<Shape> flow_shapes(const Pass& pass) const override {
    return trunk_.flow_shapes(pass);
  }
  // On the piece with the vocabulary head, of its forward's result: the features of the batch's
  // places [B*P,C].
  Var rows(const Var& output, const Pass& pass) const;
  // With model.value_head: a number for each of the batch's places, [B*P].
  Var values(const Var& output, const Pass& pass) const;
  // On the piece with the head: logits [M, V/t] of features [M,C], the result of its forward.
  Tensor logits(const Tensor& features) const;
  const Parameter& head() const { return *head_; }
  // Columns of the logits that this rank holds.
  ops::VocabShard vocab_shard() const;
  Var label_scores(const Var& output, const Pass& pass) const override;

 private:
  Var features(const Var& hidden, const Pass& pass) const;
  Var scaled(const Var& normed) const;

  Trunk trunk_;
  double dropout_, output_scale_;
  std::optional<NormLayer> final_norm_;
  Parameter* head_ = nullptr;
  std::optional<Linear> classifier_, value_;
};

// Mean cross entropy of the next token over all places, or those the batch names, whose weight is
// not 0.
class NextToken : public Objective {
 public:
  explicit NextToken(const Gpt& last_piece) : model_(last_piece) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  const Gpt& model_;
};

}  // namespace skein
