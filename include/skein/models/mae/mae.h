// Masked autoencoders (He and others, "Masked autoencoders are scalable vision learners", 2022): an
// encoder sees some of a picture's patches, and a decoder says the numbers of the others.
//
// Blocks are numbered through, those of the encoder first. The encoder reads the class token and
// the patches that are seen; the decoder reads what the encoder has made of them, and behind that
// the mask token for each hidden patch, each with the waves of its place. The order of tokens plays
// no part in what they say. Pieces may end anywhere. The encoder's tensors have the names that a
// ViT with a class token has, which fine-tuning makes of it. Tensors, by global name (C = d_model,
// D = decoder_width, K = channels * patch height * patch width, N = patches of a picture; blocks as
// in gpt.h, those of the decoder D wide):
//   embedding.patches.weight [C,K], .bias [C]   embedding.class [1,C]
//   embedding.positions.weight [1+N,C] (constant)
//   final_norm.gain/bias [C]   of what the encoder has made
//   decoder.embedding.weight [D,C], .bias [D]   decoder.mask [1,D]
//   decoder.positions.weight [1+N,D] (constant)
//   decoder.norm.gain/bias [D]   decoder.pixels.weight [K,D], .bias [K]
//     whose numbers lie row, column, channel
#pragma once

#include "skein/models/pictures.h"

namespace skein {

struct MaeOptions {
  int64_t decoder_layers = 0;  // of model.n_layers, the last; 0: two fifths of them
  int64_t decoder_heads = 0;   // 0: model.n_heads
  int64_t decoder_width = 0;   // 0: heads about half as wide as the encoder's
  int64_t decoder_ff = 0;      // 0: 4 decoder_width
  double mask_ratio = 0.75;    // part of the patches that is hidden
  bool norm_pixels = true;     // each hidden patch is said less its mean, over its deviation

  bool operator==(const MaeOptions&) const = default;
};

inline MaeOptions& mae_options(ModelConfig& config) { return config.own.get<MaeOptions>(); }
inline const MaeOptions& mae_options(const ModelConfig& config) {
  return config.own.get<MaeOptions>();
}

class Mae : public Model {
 public:
  // parameters outlives the model and receives its tensors. A usage error where tensor-parallel
  // ranks cannot divide the decoder.
  Mae(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
  // The flow is hidden states, [B,T,C] of the T tokens that are seen in the encoder, [B,1+N,D] in
  // the decoder. The last piece gives normed hidden states of the hidden patches, [B,P,D].
  Flow forward(const Flow& flow, const Pass& pass) const override;
  std::vector<FlowPart> flow_parts(const Pass& pass) const override;
  // The squared error of each hidden patch, the mean over its numbers. Answers: the numbers that it
  // says, [B,P,K].
  std::unique_ptr<Objective> objective() const override;
  // [B,P,K] of the last piece's result.
  Var patches(const Var& output, const Pass& pass) const;

 private:
  void begin_decoder(int chunk, Parameters& parameters);
  void add_head(int chunk, Parameters& parameters);
  Var begun(const Var& encoded, const Pass& pass) const;

  ModelConfig config_, decoder_config_;
  DType dtype_;
  int first_, decoder_;  // block of this piece, and the decoder's first one
  std::optional<PatchEmbedding> embedding_;
  std::optional<Stack> encoder_blocks_, decoder_blocks_;
  std::optional<NormLayer> encoder_norm_, decoder_norm_;
  std::optional<Linear> decoder_embedding_, pixels_;
  Weight mask_;
  Parameter* positions_ = nullptr;
};

const Architecture& mae_architecture();

}  // namespace skein
