// What the transformers here have in common: embeddings, on the first piece, and consecutive
// blocks.
#pragma once

#include <optional>

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

class Trunk {
 public:
  // parameters outlives the trunk and receives its tensors.
  Trunk(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
        Parameters& parameters);
  // flow as Model::forward has it -> hidden states [B,T,C], [B,T/t,C] under sequence parallelism.
  Var operator()(const Var& flow, const Pass& pass) const;
  Shape flow_shape(int64_t batch, int64_t length) const;
  // The pass as this model carries it out: without sequence parallelism where there is nobody to
  // share with.
  Pass carried_out(const Pass& pass) const;
  NormSpec norm_spec(const char* name) const;

 private:
  ModelConfig config_;
  bool sequence_parallel_;
  int shards_;
  std::optional<Embedding> embedding_;
  std::optional<Stack> stack_;
};

}  // namespace skein
