// Swin transformers (Liu and others, "Swin transformer: hierarchical vision transformer using
// shifted windows", 2021): encoders of pictures whose patches see those of their window, and are
// merged by four between stages.
//
// Tensors, by global name (C = d_model, K = channels * patch height * patch width; stage s works on
// rows of width W = 2^s C, with 2^s n_heads heads and hidden width 2^s d_ff; blocks otherwise as in
// gpt.h):
//   embedding.patches.weight [C,K], .bias [C]   embedding.norm.gain/bias [C] (embedding_norm)
//   block.<i>.attention.offsets.weight [heads,(2 side - 1)^2]
//   block.<i>.merging.norm.gain/bias [2 W], .reduction.weight [W,2 W]  (first of stages from 1 on)
//   final_norm.gain/bias [W of the last stage]
//   classifier.weight [labels,W], .bias [labels]
#pragma once

#include "skein/models/pictures.h"

namespace skein {

struct SwinOptions {
  std::vector<int64_t> depths{2, 2, 6, 2};  // blocks of each stage
  int64_t window_side = 7;                  // of windows, in tokens

  bool operator==(const SwinOptions&) const = default;
  int64_t stages() const { return std::ssize(depths); }
};

inline SwinOptions& swin_options(ModelConfig& config) { return config.own.get<SwinOptions>(); }
inline const SwinOptions& swin_options(const ModelConfig& config) {
  return config.own.get<SwinOptions>();
}

// What a block works on.
struct SwinStage {
  int64_t number = 0;             // of the stage
  int64_t rows = 0, columns = 0;  // of its grid of tokens
  int64_t width = 0;              // of the tokens
  int64_t place = 0;              // of the block in its stage
};
SwinStage swin_stage(const ModelConfig& config, int64_t block);

class Swin : public PictureModel {
 public:
  // parameters outlives the model and receives its tensors.
  Swin(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters);
  std::vector<FlowPart> flow_parts(const Pass& pass) const override;

 private:
  // The means of all tokens.
  Var read(const Var& hidden) const override;

  int first_block_;
};

const Architecture& swin_architecture();

}  // namespace skein
