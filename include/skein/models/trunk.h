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
  // Makes hidden states [B,T,C], under sequence parallelism [B,T/t,C], of those of the piece
  // before; the first piece looks up pass.batch->tokens.
  Var operator()(const Flow& flow, const Pass& pass) const;
  // The shapes of a flow of one tensor, these hidden states.
  std::vector<Shape> flow_shapes(const Pass& pass) const;
  // The pass as this model carries it out: without sequence parallelism where the model has one
  // shard only.
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
