// From token ids to the first hidden states.
#pragma once

#include <optional>

#include "skein/kernels/embedding.h"
#include "skein/nn/layers.h"

namespace skein {

// distance: nothing is added to embeddings, scores of self-attention get a bias instead.
enum class Positions { learned, sinusoidal, rotary, distance };

struct EmbeddingSpec {
  int64_t vocab_size = 0, width = 0, context = 0;
  Positions positions = Positions::learned;
  int64_t position_offset = 0;   // row of the learned positions that position 0 reads
  int64_t token_types = 0;       // kinds of tokens, of an embedding each; 0: none
  std::optional<NormSpec> norm;  // of the sum; its name is replaced
  double deviation = 0.02, dropout = 0;
  std::string name = "embedding";
  // The first use of its table of tokens and the number of this one, where it is none of its own.
  std::string tied_to = {};
  int use = 2;
  int dropout_site = 0;                                     // outside of the blocks
  kernels::Sinusoid sinusoids = kernels::Sinusoid::halves;  // of sinusoidal positions
  double token_scale = 1;  // what rows of the table of tokens are multiplied by
};

class Embedding {
 public:
  Embedding(Parameters& parameters, const EmbeddingSpec& spec, int chunk);
  // The sum of what tokens, positions and types of pass.sequence() say, [B,T,C]; this rank's
  // positions [B,T/t,C] under sequence parallelism.
  Var operator()(const Pass& pass) const;

 private:
  Var added(Var x, const data::Sequence& read) const;

  EmbeddingSpec spec_;
  Parameter* tokens_;
  Parameter* positions_ = nullptr;
  Parameter* types_ = nullptr;
  std::optional<NormLayer> norm_;
};

}  // namespace skein
