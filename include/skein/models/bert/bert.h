// Encoders that learn masked tokens: BERT (Devlin and others, "BERT: Pre-training of deep
// bidirectional transformers", 2018) and RoBERTa (Liu and others, 2019).
//
// Tensors, by global name (C = d_model; blocks as in gpt.h, with norm_1 after the attention and
// norm_2 after the feed-forward):
//   embedding.tokens.weight [V,C]   embedding.positions.weight [context + position_offset, C]
//   embedding.types.weight [token_types, C] embedding.norm.gain/bias [C]    pooler.weight [C,C],
//   .bias [C] head = vocabulary: head.dense.weight [C,C], .bias [C]   head.norm.gain/bias [C]
//   head.weight [V,C] (untied)   head.bias [V]
//                      pair.weight [2,C], .bias [2] (with the pooler)
//   head = sequence or token: classifier.weight [labels,C], .bias [labels]
#pragma once

#include <optional>

#include "skein/models/labels.h"
#include "skein/models/trunk.h"
#include "skein/ops/loss.h"

namespace skein {

class Bert : public Model, public Labelled {
 public:
  // parameters outlives the model and receives its tensors.
  Bert(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
       Parameters& parameters);
  // The last piece gives hidden states [B,T,C] of all positions, on every tensor-parallel rank.
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<Shape> flow_shapes(const Pass& pass) const override {
    return trunk_.flow_shapes(pass);
  }

  // Of hidden [B,T,C]: dense, model.head_activation and norm at the batch's places, [B*P,C], for
  // products with the decoder.
  Var transformed(const Var& hidden, const Pass& pass) const;
  const Parameter& decoder() const { return *decoder_; }
  const Parameter& decoder_bias() const { return *decoder_bias_; }
  // Columns of the logits that this rank holds.
  ops::VocabShard vocab_shard() const;
  // [B,2]: the second part follows the first, or does not.
  Var pair_scores(const Var& hidden, const Pass& pass) const;
  // A head of sequences looks at what model.pool says, whatever the batch's places are.
  Var label_scores(const Var& hidden, const Pass& pass) const override;

 private:
  void add_vocabulary_head(const ModelConfig& config, int chunk, Parameters& parameters);
  Var pooled(const Var& hidden, const Pass& pass) const;

  Trunk trunk_;
  Head kind_;
  Pool pool_;
  double dropout_;
  ops::Activation activation_;
  bool predicts_;
  std::optional<Linear> pooler_, dense_, pair_, classifier_;
  std::optional<NormLayer> norm_;
  Parameter* decoder_ = nullptr;
  Parameter* decoder_bias_ = nullptr;
};

// Mean cross entropy of the masked tokens; where the batch has pair labels, plus that of the pairs.
class MaskedTokens : public Objective {
 public:
  explicit MaskedTokens(const Bert& last_piece) : model_(last_piece) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  // Token ids [B,P], and 0 or 1 for pairs [B,1].
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  const Bert& model_;
};

}  // namespace skein
