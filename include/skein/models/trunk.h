// What the transformers here have in common: embeddings, on the first piece, and consecutive
// blocks.
#pragma once

#include <optional>
#include <string>

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// What the options say of the layers, of which models may be put together in other ways, too. Names
// of blocks' layers are their own.
EmbeddingSpec embedding_spec(const ModelConfig& config, bool sequence_parallel);
// block: its number in the model, where attention differs by it.
BlockSpec block_spec(const ModelConfig& config, bool sequence_parallel, int64_t block = 0);
// Of the blocks of a piece.
std::vector<BlockSpec> block_specs(const ModelConfig& config, const ModelPiece& piece,
                                   bool sequence_parallel);
NormSpec norm_spec(const ModelConfig& config, const std::string& name, bool sequence_parallel);
// A layer of a head, whole on every rank, that reads rows of the hidden width.
LinearSpec head_layer(const ModelConfig& config, const char* name, int64_t outputs,
                      double deviation, RowKind meets, bool bias = true);
// Of a tensor that a head may share.
struct TableUse {
  const char* tensor = "embedding.tokens.weight";
  int number = 2;  // of the head's use
};
// Adds "head.weight" [V,C] in a bucket of that name; it is `table`'s where the model ties them.
Parameter& add_decoder(const ModelConfig& config, const char* bucket, int chunk,
                       Parameters& parameters, const TableUse& table = {});

// What a head over the vocabulary reads of the last block's result: norm (null: none), times scale;
// when decoding of the last place of each sequence only.
Var normed_features(const Var& hidden, const NormLayer* norm, double scale, const Pass& pass);
// x [B,T/t,C] of all positions, for products whose columns are split: [B*T,C].
Var feature_rows(const Var& x, const Pass& pass);
// Of such rows those of the batch's places, [B*P,C].
Var rows_at_places(const Var& rows, const data::Batch& batch);

class Trunk {
 public:
  // parameters outlives the trunk and receives its tensors.
  Trunk(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
        Parameters& parameters);
  // Makes hidden states [B,T,C], under sequence parallelism [B,T/t,C], of those of the piece
  // before; the first piece looks up pass.batch->tokens.
  Var operator()(const Flow& flow, const Pass& pass) const;
  // A flow of one tensor, these hidden states.
  std::vector<FlowPart> flow_parts(const Pass& pass) const;
  // The pass as this model carries it out: without sequence parallelism where the model has one
  // shard only.
  Pass carried_out(const Pass& pass) const { return pass.divided(sequence_parallel_); }
  NormSpec norm_spec(const std::string& name) const {
    return skein::norm_spec(config_, name, sequence_parallel_);
  }

 private:
  ModelConfig config_;
  bool sequence_parallel_;
  int shards_;
  DType dtype_;
  std::optional<Embedding> embedding_;
  std::optional<Stack> stack_;
};

}  // namespace skein
