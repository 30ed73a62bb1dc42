// Vision transformers (Dosovitskiy and others, "An image is worth 16x16 words", 2021): encoders
// whose tokens are the patches of a picture.
//
// Tensors, by global name (C = d_model, K = channels * patch height * patch width, T = context;
// blocks as in gpt.h):
//   embedding.patches.weight [C,K], .bias [C]   embedding.class [1,C] (class_token)
//   embedding.positions.weight [T,C] (constant where positions are sinusoidal)
//   final_norm.gain/bias [C] (pre-norm)
//   classifier.weight [labels,C], .bias [labels]
#pragma once

#include "skein/models/pictures.h"

namespace skein {

struct VitOptions {
  bool class_token = true;
  // What the classifier reads: the class token's last hidden state, or the mean of all patches'.
  Pool pool = Pool::first;

  bool operator==(const VitOptions&) const = default;
};

inline VitOptions& vit_options(ModelConfig& config) { return config.own.get<VitOptions>(); }
inline const VitOptions& vit_options(const ModelConfig& config) {
  return config.own.get<VitOptions>();
}

class Vit : public PictureModel {
 public:
  // parameters outlives the model and receives its tensors.
  Vit(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
  std::vector<FlowPart> flow_parts(const Pass& pass) const override;

 private:
  // By VitOptions::pool.
  Var read(const Var& hidden) const override;
};

const Architecture& vit_architecture();

}  // namespace skein
