#include "skein/nn/embedding.h"

#include "skein/core/where.h"
#include "skein/kernels/embedding.h"
#include "skein/nn/stack.h"
#include "skein/ops/collective.h"
#include "skein/ops/embedding.h"

namespace skein {

Embedding::Embedding(Parameters& parameters, const EmbeddingSpec& spec, int chunk) : spec_(spec) {
  const auto table = [&](const char* name, int64_t rows, Split split) {
    return &parameters.add({.name = name,
                            .shape = {rows, spec.width},
                            .split = split,
                            .start = {Start::normal, spec.deviation},
                            .meets = RowKind::looked_up});
  };
  parameters.enter("embedding.tokens", chunk, {Part::embedding});
  tokens_ = table("embedding.tokens.weight", spec.vocab_size, Split::vocab);
  if (spec.positions == Positions::learned) {
    parameters.enter("embedding.positions", chunk, {Part::embedding});
    positions_ =
        table("embedding.positions.weight", spec.context + spec.position_offset, Split::none);
  }
  if (spec.token_types == 0 && !spec.norm) return;
  parameters.enter("embedding.rest", chunk, {Part::embedding});
  if (spec.token_types > 0) types_ = table("embedding.types.weight", spec.token_types, Split::none);
  if (!spec.norm) return;
  NormSpec norm = *spec.norm;
  norm.name = "embedding.norm";
  norm_.emplace(parameters, norm);
}

Var Embedding::added(Var x, const Sequence& read) const {
  if (positions_)
    x = ops::add(x, ops::embedding(read.positions, positions_->weight(), -spec_.position_offset));
  if (spec_.positions == Positions::sinusoidal) {
    Tensor waves = Tensor::empty(x.shape(), x.value().dtype(), x.value().device());
    on_device(waves.device(),
              [&](auto device) { kernels::sinusoid(device, read.positions, Out(waves)); });
    x = ops::add(x, Var(waves));
  }
  if (!types_) return x;
  const Tensor types = read.types.defined()
                           ? read.types
                           : Tensor::zeros(read.tokens.shape(), DType::i32, read.tokens.device());
  return ops::add(x, ops::embedding(types, types_->weight(), 0));
}

Var Embedding::operator()(const Pass& pass) const {
  const Within here = Within::part("embedding");
  const Sequence& read = pass.sequence();
  Var x = added(ops::reduce_from_shards(
                    ops::embedding(read.tokens, tokens_->weight(), tokens_->first), *pass.tp),
                read);
  if (pass.sequence_parallel) x = ops::slice_sequence(x, *pass.tp);
  if (norm_) x = (*norm_)(x);
  return residual_dropout(x, pass, spec_.dropout, -1, 0);
}

}  // namespace skein
