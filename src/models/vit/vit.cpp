#include "skein/models/vit/vit.h"

#include "skein/models/trunk.h"
#include "skein/ops/embedding.h"

namespace skein {
namespace {

PatchEmbeddingSpec vit_embedding(const ModelConfig& c) {
  PatchEmbeddingSpec made = patch_spec(c);
  made.class_token = vit_options(c).class_token;
  return made;
}

// Padding, so that means leave it out: the class token.
Tensor class_tokens_left_out(const Var& hidden) {
  const int64_t samples = hidden.shape()[0], length = hidden.shape()[1];
  const Tensor made = Tensor::zeros({samples, length}, DType::i32);
  for (int64_t sample = 0; sample < samples; ++sample) made.data<int32_t>()[sample * length] = -1;
  return made.to(hidden.value().device());
}

}  // namespace

Vit::Vit(const ModelConfig& c, const ModelPiece& piece, Parameters& parameters)
    : PictureModel(c, parameters) {
  if (piece.embeds) embedding_.emplace(parameters, vit_embedding(c), piece.chunk);
  stack_.emplace(parameters, piece.first_block, piece.chunk, block_specs(c, piece, false));
  if (piece.predicts) add_head(c, piece.chunk, parameters);
}

std::vector<FlowPart> Vit::flow_parts(const Pass& pass) const {
  return {{{pass.batch->size(), pass.batch->length(), config_.d_model}, dtype_}};
}

Var Vit::read(const Var& hidden) const {
  const VitOptions& own = vit_options(config_);
  if (own.pool == Pool::first) return ops::first_position(hidden);
  return ops::sample_means(hidden, own.class_token ? class_tokens_left_out(hidden) : Tensor());
}

}  // namespace skein
