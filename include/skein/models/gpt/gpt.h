// Decoder-only language models: GPT-2 and GPT-3 (learned positions, layer norm, GELU) to Llama
// (rotary positions, RMS norm, SwiGLU, grouped queries) by options alone.
//
// Tensors, by global name (C = d_model, F = d_ff, H heads, G key heads, D head width):
//   embedding.tokens.weight [V,C]   embedding.positions.weight [context,C] (learned positions)
//   block.i.norm_1.gain/bias [C]
//   block.i.attention.q.weight [H*D,C], .k/.v [G*D,C], .out [C,H*D], .bias [rows]
//   block.i.attention.q_norm.gain [D], .k_norm.gain [D] (qk_norm)
//   block.i.norm_2.gain/bias [C]
//   block.i.result_norm_1.gain/bias, .result_norm_2 [C] (sandwich)
//   block.i.mlp.up.weight [F,C], .gate [F,C] (gated), .down [C,F], .bias [rows]
//   final_norm.gain/bias [C] (pre-norm, sandwich)
//   head.weight [V,C] (untied)   classifier.weight [labels,C] (heads of labels)
//   value.weight [1,C], value.bias [1] (value_head)
#pragma once

#include <optional>

#include "skein/models/architecture.h"
#include "skein/models/trunk.h"

namespace skein {

struct GptOptions {
  bool value_head = false;  // with head=vocabulary: a number for each token beside its logits
  bool prefix = false;      // with head=vocabulary: a batch's prefix is seen by all of its row
};

class Gpt : public Model, public Predictor, public Scorer, public ValueHead {
 public:
  // parameters outlives the model and receives its tensors.
  Gpt(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
      Parameters& parameters);
  // With a vocabulary head the last piece gives features [M,C] of all places, or of the last one of
  // each sequence when decoding; with another head hidden states [B,T,C]. Both are divided by the
  // width ratio of muP.
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    return trunk_.flow_parts(pass);
  }
  const Predictor* predictor() const override { return head_ ? this : nullptr; }
  const Scorer* scorer() const override { return classifier_ ? this : nullptr; }
  const ValueHead* value_head() const override { return value_ ? this : nullptr; }
  std::unique_ptr<Objective> objective() const override;

  Var rows(const Var& output, const Pass& pass) const override;
  const Parameter& head() const override { return *head_; }
  Var values(const Var& output, const Pass& pass) const override;
  Var label_scores(const Var& output, const Pass& pass) const override;

 private:
  Var features(const Var& hidden, const Pass& pass) const;

  Trunk trunk_;
  double dropout_, output_scale_;
  std::optional<NormLayer> final_norm_;
  Parameter* head_ = nullptr;
  std::optional<Linear> classifier_, value_;
};

const Architecture& gpt_architecture();

}  // namespace skein
