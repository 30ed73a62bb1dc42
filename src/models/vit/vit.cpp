#include "skein/models/vit/vit.h"

#include "skein/models/terms.h"
#include "skein/models/trunk.h"
#include "skein/ops/embedding.h"

namespace skein {
namespace {

PatchEmbeddingSpec embedding_of(const ModelConfig& c) {
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
    : config_(c), dtype_(parameters.dtype()) {
  if (piece.embeds) embedding_.emplace(parameters, embedding_of(c), piece.chunk);
  stack_.emplace(parameters, piece.first_block, piece.chunk, block_specs(c, piece, false));
  if (!piece.predicts) return;
  if (c.norm_placement == NormPlacement::pre) {
    parameters.enter("final_norm", piece.chunk, {Part::final_norm});
    final_norm_.emplace(parameters, norm_spec(c, "final_norm", false));
  }
  parameters.enter("head", piece.chunk, {Part::label_head});
  classifier_.emplace(parameters,
                      head_layer(c, "classifier", c.labels, c.head_deviation(), RowKind::samples));
}

Flow Vit::forward(const Flow& flow, const Pass& pass) const {
  const Pass whole = pass.whole();
  const Var x = (*stack_)(embedding_ ? (*embedding_)(whole) : flow.only(), whole);
  return final_norm_ ? (*final_norm_)(x) : x;
}

std::vector<FlowPart> Vit::flow_parts(const Pass& pass) const {
  return {{{pass.batch->size(), pass.batch->length(), config_.d_model}, dtype_}};
}

Var Vit::label_scores(const Var& hidden, const Pass& pass) const {
  const VitOptions& own = vit_options(config_);
  const Pass whole = pass.whole();
  const Var read =
      own.pool == Pool::first
          ? ops::first_position(hidden)
          : ops::sample_means(hidden, own.class_token ? class_tokens_left_out(hidden) : Tensor());
  return (*classifier_)(residual_dropout(read, whole, config_.dropout, -1, 1), whole);
}

std::unique_ptr<Objective> Vit::objective() const {
  if (!classifier_) return nullptr;
  return std::make_unique<LabelTerm>(*this);
}

}  // namespace skein
