// Encoders that learn masked tokens: BERT (Devlin and others, "BERT: Pre-training of deep
// bidirectional transformers", 2018) and RoBERTa (Liu and others, 2019).
//
// Tensors, by global name (C = d_model; blocks as in gpt.h, with norm_1 after the attention and
// norm_2 after the feed-forward):
//   embedding.tokens.weight [V,C]   embedding.positions.weight [context + position_offset, C]
//   embedding.types.weight [token_types, C]   embedding.norm.gain/bias [C]
//   pooler.weight [C,C], .bias [C]
//   head = vocabulary: head.dense.weight [C,C], .bias [C]   head.norm.gain/bias [C]
//                      head.weight [V,C] (untied)   head.bias [V]
//                      pair.weight [2,C], .bias [2] (with the pooler)
//   head = sequence or token: classifier.weight [labels,C], .bias [labels]
#pragma once

#include <optional>

#include "skein/models/architecture.h"
#include "skein/models/trunk.h"

namespace skein {

struct BertOptions {
  // of the vocabulary head's dense layer; none: as model.activation
  std::optional<MlpKind> head_activation;
  bool pooler = false;      // a dense layer on one vector of the text, for pairs and sequences
  Pool pool = Pool::first;  // that vector: mean or first
  std::optional<MlpKind> pooler_activation{};  // behind that layer; none: tanh
};

inline BertOptions& bert_options(ModelConfig& config) { return config.own.get<BertOptions>(); }
inline const BertOptions& bert_options(const ModelConfig& config) {
  return config.own.get<BertOptions>();
}
// The activation of the vocabulary head's dense layer.
MlpKind head_activation(const ModelConfig& config);
// The deviation of the pooler's start weights. A vocabulary head pretrains the pooler, which begins
// with init_std like the rest. Under a head of sequences it begins anew only where none was
// pretrained; then its deviation is 1 / sqrt(d_model), by its fan-in, so that a narrow pooler lets
// through what it reads, too.
double pooler_deviation(const ModelConfig& config);

class Bert : public Model, public Predictor, public Scorer {
 public:
  // parameters outlives the model and receives its tensors.
  Bert(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
       Parameters& parameters);
  // The last piece gives hidden states [B,T,C] of all positions, on every tensor-parallel rank.
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<FlowPart> flow_parts(const Pass& pass) const override {
    return trunk_.flow_parts(pass);
  }
  const Predictor* predictor() const override { return head_ ? this : nullptr; }
  const Scorer* scorer() const override { return classifier_ ? this : nullptr; }
  // Mean cross entropy of the masked tokens; where the batch has pair labels, plus that of the
  // pairs, whose answers are 0 or 1 [B,1].
  std::unique_ptr<Objective> objective() const override;

  // Dense, model.head_activation and norm of the hidden states at the batch's places.
  Var rows(const Var& hidden, const Pass& pass) const override;
  const Parameter& head() const override { return *head_; }
  Weight head_bias() const override { return head_bias_; }
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
  ops::Activation activation_, pooler_activation_;
  bool predicts_;
  std::optional<Linear> pooler_, dense_, pair_, classifier_;
  std::optional<NormLayer> norm_;
  Parameter* head_ = nullptr;
  Weight head_bias_;
};

const Architecture& bert_architecture();
inline bool is_bert(const ModelConfig& config) {
  return config.architecture == &bert_architecture();
}

}  // namespace skein
