// From the pixels of patches to the first hidden states.
#pragma once

#include <optional>

#include "skein/nn/embedding.h"

namespace skein {

struct PatchEmbeddingSpec {
  int64_t rows = 0, columns = 0;  // of patches
  int64_t numbers = 0;            // of a patch, in the order channel, row, column
  int64_t width = 0;
  bool class_token = true;  // a learnt token stands ahead of the patches
  // learned: one vector a token; sinusoidal: of a patch's row and column, never learnt; distance:
  // none is added
  Positions positions = Positions::learned;
  std::optional<NormSpec> norm{};  // of the sum; its name is replaced
  double deviation = 0.02, dropout = 0;

  int64_t tokens() const { return rows * columns + (class_token ? 1 : 0); }
};

// Tensors (C = width, K = numbers, T = tokens): embedding.patches.weight [C,K], .bias [C];
// embedding.class [1,C]; embedding.positions.weight [T,C]; embedding.norm.gain/bias [C].
class PatchEmbedding {
 public:
  PatchEmbedding(Parameters& parameters, const PatchEmbeddingSpec& spec, int chunk);
  // Of pass.batch's features [B,N,K]: [B,T,C]. Every tensor-parallel rank makes all of it.
  Var operator()(const Pass& pass) const;

 private:
  PatchEmbeddingSpec spec_;
  std::optional<Linear> patches_;
  Weight class_;
  Parameter* positions_ = nullptr;
  std::optional<NormLayer> norm_;
  DType dtype_;
};

// [T,C] f64 of T = rows * columns patches, and a row of zeros ahead of them for a class token: the
// first half of a vector is the patch's column, the second its row, each as all sines and then all
// cosines of p 10000^(-4i/C) (He and others, "Masked autoencoders", 2022; MoCo v3). C must divide
// by 4.
std::vector<double> grid_waves(int64_t rows, int64_t columns, int64_t width, bool class_token);

}  // namespace skein
