// Encoder-decoders: the Transformer that translates (Vaswani and others, "Attention is all you
// need", 2017), T5 (Raffel and others, 2020) and BART (Lewis and others, 2020) by options alone.
//
// Blocks are numbered through, those of the encoder first. The encoder reads the batch's source;
// a block of the decoder looks at the batch itself, then at what the encoder has made of the
// source, the memory. Pieces may end anywhere. Tensors, by global name (C = d_model, F = d_ff, H
// heads, G key heads, D head width, N buckets):
//   embedding.tokens.weight [Vs,C]   embedding.positions.weight [source_context + offset,C]
//   embedding.norm.gain/bias [C]     of the source; with share_source the target's table, too
//   block.i.norm_1, .attention.q/.k/.v/.out, .norm_2, .mlp.up/.gate/.down   i in the encoder, gpt.h
//   block.i.norm_1, .attention, .norm_2, .cross.q/.k/.v/.out, .norm_3, .mlp   i in the decoder
//   encoder_norm.gain/bias [C] (pre-norm)
//   encoder_distances.weight, decoder_distances.weight [H,N] (positions=distance)
//   target.tokens.weight [V,C] (without share_source)   target.positions.weight, target.norm
//   final_norm.gain/bias [C] (pre-norm)
//   head.weight [V,C] (untied)   head.bias [V] (head_bias)
#pragma once

#include <optional>

#include "skein/models/architecture.h"
#include "skein/models/transformer/options.h"
#include "skein/models/trunk.h"
#include "skein/nn/distance_bias.h"

namespace skein {

class Transformer : public Model, public Predictor {
 public:
  // parameters outlives the model and receives its tensors.
  Transformer(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
              Parameters& parameters);
  // The flow is hidden states [B,S,C] in the encoder, hidden states [B,T,C] and the memory [B,S,C]
  // from the decoder's first block on; behind them the bias of that half's scores, where there is
  // one. The last piece gives features [M,C] of all places of the target, or of the last one of
  // each sequence when decoding. In decoding, once the cache has a length, the encoder gives
  // nothing, and no memory flows.
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<FlowPart> flow_parts(const Pass& pass) const override;
  const Predictor* predictor() const override { return head_ ? this : nullptr; }
  std::unique_ptr<Objective> objective() const override;

  Var rows(const Var& output, const Pass& pass) const override;
  const Parameter& head() const override { return *head_; }
  Weight head_bias() const override { return head_bias_; }

 private:
  // Hidden states and what blocks read beside them.
  struct Stream {
    Var hidden;
    SideInputs beside;
  };

  void begin_encoder(int chunk, Parameters& parameters);
  void begin_decoder(int chunk, Parameters& parameters);
  void add_head(int chunk, Parameters& parameters);
  bool has_bias() const { return config_.positions == Positions::distance; }
  // Of a piece with blocks of the decoder: whether what enters it is the encoder's.
  bool begins_decoder() const { return first_ <= decoder_; }
  Pass carried_out(const Pass& pass) const { return pass.divided(sequence_parallel_); }
  Var biased(const std::optional<DistanceBias>& table, int64_t length, const Pass& pass) const;
  Var output_dropout(const Var& x, int site, const Pass& pass) const;
  Stream encoded(const Flow& flow, const Pass& pass) const;
  Stream begun(const Var& encoded, const Pass& pass) const;
  Stream decoding(const Flow& flow, const Pass& pass) const;
  Flow handed_on(const Stream& stream, bool made_here) const;
  Var features(const Var& hidden, const Pass& pass) const;
  FlowPart hidden_part(const data::Sequence& of, const Pass& pass) const;

  ModelConfig config_;
  bool sequence_parallel_;
  int shards_;
  DType dtype_;
  int first_, last_, decoder_;  // blocks of this piece, and the decoder's first one
  std::optional<Embedding> embedding_, target_;
  std::optional<DistanceBias> encoder_distances_, decoder_distances_;
  std::optional<Stack> encoder_blocks_, decoder_blocks_;
  std::optional<NormLayer> encoder_norm_, final_norm_;
  Parameter* head_ = nullptr;
  Weight head_bias_;
};

const Architecture& transformer_architecture();

}  // namespace skein
