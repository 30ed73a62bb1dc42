#include "skein/models/gpt.h"

#include <cmath>

#include "skein/core/where.h"
#include "skein/kernels/embedding.h"
#include "skein/ops/attention.h"
#include "skein/ops/collective.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"

namespace skein {
namespace {

BlockSpec block_spec(const ModelConfig& c, bool sequence_parallel) {
  const double out_deviation = c.init_std / std::sqrt(2.0 * static_cast<double>(c.n_layers));
  BlockSpec spec;
  spec.attention = {"", 0, c.d_model, c.n_heads, c.kv_heads(), c.head_width(), c.positions == Positions::rotary,
                    rotary_waves(c), c.bias || c.attention_bias, c.dropout, c.init_std, out_deviation, sequence_parallel, c.window};
  spec.mlp = {"", c.d_model, c.hidden(), c.activation, c.bias, c.init_std, out_deviation, sequence_parallel};
  spec.norm = {"", c.d_model, c.norm, c.norm_epsilon, c.bias, sequence_parallel};
  spec.placement = c.norm_placement;
  spec.dropout = c.dropout;
  return spec;
}

// x [B,T,C] -> [B,1,C]
Tensor last_position(const Tensor& x) {
  const int64_t length = x.dim(1), width = x.dim(2);
  Tensor last = Tensor::empty({x.dim(0), 1, width}, x.dtype(), x.device());
  for (int64_t row = 0; row < x.dim(0); ++row)
    last.flat(row * width, width).copy_from(x.flat(((row + 1) * length - 1) * width, width));
  return last;
}

}  // namespace

Tensor row_weights_of(const Batch& batch, double scale, const Tensor& like) {
  const Tensor made = Tensor::empty({batch.weights.size()}, gradient_dtype(like.dtype()));
  const float* weight = batch.weights.data<float>();
  visit_float(made.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    T* to = made.data<T>();
    for (int64_t i = 0; i < made.size(); ++i) to[i] = static_cast<T>(static_cast<A>(weight[i]) * static_cast<A>(scale));
  });
  return made.to(like.device());
}

Gpt::Gpt(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel, Parameters& parameters)
    : config_(config), sequence_parallel_(sequence_parallel && parameters.shards() > 1), shards_(parameters.shards()) {
  const Start start{Start::normal, config.init_std};
  if (piece.embeds) {
    parameters.enter("embedding.tokens", piece.chunk);
    tokens_ = &parameters.add({"embedding.tokens.weight", {config.vocab_size, config.d_model}, Split::vocab, start});
    if (config.positions == Positions::learned) {
      parameters.enter("embedding.positions", piece.chunk);
      positions_ = &parameters.add({"embedding.positions.weight", {config.context, config.d_model}, Split::none, start});
    }
  }
  stack_ = std::make_unique<Stack>(parameters, piece.first_block, piece.last_block, piece.chunk,
                                   block_spec(config, sequence_parallel_));
  if (!piece.predicts) return;
  if (config.norm_placement == NormPlacement::pre) {
    parameters.enter("final_norm", piece.chunk);
    final_norm_ = std::make_unique<NormLayer>(
        parameters, NormSpec{"final_norm", config.d_model, config.norm, config.norm_epsilon, config.bias, sequence_parallel_});
  }
  parameters.enter("head", piece.chunk);
  const std::string tied_to = config.tie_embeddings ? "embedding.tokens.weight" : "";
  head_ = &parameters.add({"head.weight", {config.vocab_size, config.d_model}, Split::vocab, start, false, tied_to});
}

Var Gpt::embed(const Pass& pass) const {
  const Within here = Within::part("embedding");
  const Batch& batch = *pass.batch;
  Var x = ops::reduce_from_shards(ops::embedding(batch.tokens, tokens_->weight(), tokens_->first), *pass.tp);
  if (positions_) x = ops::add(x, ops::embedding(batch.positions, positions_->weight(), 0));
  if (config_.positions == Positions::sinusoidal) {
    Tensor waves = Tensor::empty(x.shape(), x.value().dtype(), x.value().device());
    on_device(waves.device(), [&](auto device) { kernels::sinusoid(device, batch.positions, waves); });
    x = ops::add(x, Var(waves));
  }
  if (sequence_parallel_ && pass.sequence_parallel) x = ops::slice_sequence(x, *pass.tp);
  return residual_dropout(x, pass, config_.dropout, -1, 0);
}

Var Gpt::features(const Var& all, const Pass& pass) const {
  const Within here = Within::part("head");
  const Var hidden = pass.cache ? Var(last_position(all.value())) : all;
  const Var x = enter_shards(final_norm_ ? (*final_norm_)(hidden) : hidden, pass);
  return ops::reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]});
}

Tensor Gpt::logits(const Tensor& features) const { return ops::linear_sums(features, head_->weight()); }

Var Gpt::forward(const Var& flow, const Pass& pass) const {
  Pass inner = pass;
  inner.sequence_parallel = pass.sequence_parallel && sequence_parallel_;
  const Var x = (*stack_)(tokens_ ? embed(inner) : flow, inner);
  return head_ ? features(x, inner) : x;
}

Shape Gpt::flow_shape(int64_t batch, int64_t length) const {
  return {batch, sequence_parallel_ ? length / shards_ : length, config_.d_model};
}

ops::VocabShard Gpt::vocab_shard() const {
  SKEIN_CHECK(head_ != nullptr);
  return {head_->first, head_->valid};
}

Losses NextToken::losses(const Var& output, const Pass& pass) const {
  const Within here = Within::part("head");
  const Tensor &weights = pass.batch->weights, targets = pass.batch->targets.reshape({-1});
  const Tensor row_weights = pass.row_weights.defined() ? pass.row_weights : row_weights_of(*pass.batch, pass.loss_scale, output.value());
  return {ops::linear_cross_entropy(output, model_.head().weight(), targets, row_weights, weights.dim(1), model_.vocab_shard(), *pass.tp), weights,
          row_weights};
}

}  // namespace skein
