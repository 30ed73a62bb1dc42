#include "skein/nn/embedding.h"

#include "skein/core/where.h"
#include "skein/nn/stack.h"
#include "skein/ops/collective.h"
#include "skein/ops/embedding.h"
#include "skein/ops/math.h"

namespace skein {

Embedding::Embedding(Parameters& parameters, const EmbeddingSpec& spec, int chunk) : spec_(spec) {
  const auto enter = [&](const char* bucket) {
    parameters.enter(spec.name + bucket, chunk, {Part::embedding});
  };
  const auto table = [&](const char* name, int64_t rows) {
    return ParameterSpec{.name = spec.name + name,
                         .shape = {rows, spec.width},
                         .start = {Start::normal, spec.deviation},
                         .meets = RowKind::looked_up};
  };
  enter(".tokens");
  ParameterSpec tokens = table(".tokens.weight", spec.vocab_size);
  tokens.split = Split::vocab;
  tokens.tied_to = spec.tied_to;
  tokens.use = spec.use;
  tokens_ = &parameters.add(tokens);
  if (spec.positions == Positions::learned) {
    enter(".positions");
    positions_ = &parameters.add(table(".positions.weight", spec.context + spec.position_offset));
  }
  if (spec.token_types == 0 && !spec.norm) return;
  enter(".rest");
  if (spec.token_types > 0) types_ = &parameters.add(table(".types.weight", spec.token_types));
  if (!spec.norm) return;
  NormSpec norm = *spec.norm;
  norm.name = spec.name + ".norm";
  norm_.emplace(parameters, norm);
}

Var Embedding::added(Var x, const data::Sequence& read) const {
  if (positions_)
    x = ops::add(x, ops::embedding(read.positions, positions_->weight(), -spec_.position_offset));
  if (spec_.positions == Positions::sinusoidal) {
    Tensor waves = Tensor::empty(x.shape(), x.value().dtype(), x.value().device());
    on_device(waves.device(), [&](auto device) {
      kernels::sinusoid(device, read.positions, spec_.sinusoids, Out(waves));
    });
    x = ops::add(x, Var(waves));
  }
  if (!types_) return x;
  const Tensor types = read.types.defined()
                           ? read.types
                           : Tensor::zeros(read.tokens.shape(), DType::i32, read.tokens.device());
  return ops::add(x, ops::embedding(types, types_->weight(), 0));
}

Var Embedding::operator()(const Pass& pass) const {
  const WhereScope here = WhereScope::part("embedding");
  const data::Sequence& read = pass.sequence();
  const Var rows = ops::reduce_from_shards(
                ops::embedding(read.tokens, tokens_->weight(), tokens_->first), *pass.tp),
            scaled = ops::scale(rows, spec_.token_scale);
  if (spec_.token_scale != 1) rows.drop_value();
  Var x = added(scaled, read);
  if (pass.sequence_parallel) x = ops::slice_sequence(x, *pass.tp);
  if (norm_) x = (*norm_)(x);
  return residual_dropout(x, pass, spec_.dropout, -1, spec_.dropout_site);
}

}  // namespace skein
