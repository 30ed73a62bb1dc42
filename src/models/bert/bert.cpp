#include "skein/models/bert/bert.h"

#include "skein/core/where.h"
#include "skein/models/likeliest.h"
#include "skein/ops/attention.h"
#include "skein/ops/collective.h"
#include "skein/ops/embedding.h"
#include "skein/ops/linear.h"

namespace skein {
namespace {

LinearSpec whole_linear(const ModelConfig& c, const char* name, int64_t outputs, double deviation) {
  return {name, c.d_model, outputs, Split::none, true, deviation};
}

// Places 0 of a batch.
Batch first_places(const Batch& batch) {
  Batch first;
  first.tokens = batch.tokens;
  first.places = Tensor::zeros({batch.size(), 1}, DType::i32);
  return placed(first, batch.tokens.device());
}

Tensor sample_weights(int64_t samples) {
  return Tensor::from(std::vector<float>(static_cast<size_t>(samples), 1.0f), {samples, 1});
}

}  // namespace

Bert::Bert(const ModelConfig& c, const ModelPiece& piece, bool sequence_parallel,
           Parameters& parameters)
    : trunk_(c, piece, sequence_parallel, parameters),
      kind_(c.head),
      pool_(c.pool),
      dropout_(c.dropout),
      activation_(*activation_of(c.activation_of_head())),
      predicts_(piece.predicts) {
  if (!predicts_) return;
  parameters.enter("head", piece.chunk);
  if (c.pooler)
    pooler_.emplace(parameters, whole_linear(c, "pooler", c.d_model, c.pooler_deviation()));
  if (c.head == Head::vocabulary)
    add_vocabulary_head(c, piece.chunk, parameters);
  else
    classifier_.emplace(parameters, whole_linear(c, "classifier", c.labels, c.head_deviation()));
}

void Bert::add_vocabulary_head(const ModelConfig& c, int chunk, Parameters& parameters) {
  dense_.emplace(parameters, whole_linear(c, "head.dense", c.d_model, c.init_std));
  NormSpec norm = trunk_.norm_spec("head.norm");
  norm.sequence_parallel = false;
  norm_.emplace(parameters, norm);
  const std::string tied_to = c.tie_embeddings ? "embedding.tokens.weight" : "";
  parameters.enter("head.decoder", chunk);
  decoder_ = &parameters.add({"head.weight",
                              {c.vocab_size, c.d_model},
                              Split::vocab,
                              {Start::normal, c.init_std},
                              false,
                              tied_to});
  parameters.enter("head", chunk);
  decoder_bias_ = &parameters.add({"head.bias", {c.vocab_size}, Split::vocab, {Start::zeros}});
  if (pooler_) pair_.emplace(parameters, whole_linear(c, "pair", 2, c.init_std));
}

Flow Bert::forward(const Flow& flow, const Pass& pass) const {
  const Var x = trunk_(flow, pass);
  return predicts_ && trunk_.carried_out(pass).sequence_parallel
             ? ops::gather_sequence_alike(x, *pass.tp)
             : x;
}

Var Bert::transformed(const Var& hidden, const Pass& pass) const {
  const Pass whole = pass.whole();
  const Var x = enter_shards(
      (*norm_)((*dense_)(ops::take_places(hidden, *pass.batch), whole, activation_)), whole);
  return ops::reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]});
}

ops::VocabShard Bert::vocab_shard() const {
  SKEIN_CHECK(decoder_ != nullptr);
  return {decoder_->first, decoder_->valid};
}

Var Bert::pooled(const Var& hidden, const Pass& pass) const {
  const Var read = pool_ == Pool::mean ? ops::sample_means(hidden, pass.batch->segments)
                                       : ops::take_places(hidden, first_places(*pass.batch));
  return (*pooler_)(read, pass.whole(), ops::Activation::tanh);
}

Var Bert::pair_scores(const Var& hidden, const Pass& pass) const {
  SKEIN_CHECK(pair_.has_value());
  return ops::reshape((*pair_)(pooled(hidden, pass), pass.whole()), {pass.batch->size(), 2});
}

Var Bert::label_scores(const Var& hidden, const Pass& pass) const {
  const Pass whole = pass.whole();
  const Var x =
      kind_ == Head::sequence ? pooled(hidden, pass) : ops::take_places(hidden, *pass.batch);
  return (*classifier_)(residual_dropout(x, whole, dropout_, -1, 1), whole);
}

Losses MaskedTokens::losses(const Var& hidden, const LossPass& pass) const {
  const Within here = Within::part("head");
  const Batch& batch = *pass.batch;
  const Tensor &weights = batch.weights,
               row_weights = row_weights_of(weights, pass.loss_scale, hidden.value());
  const Var tokens = ops::linear_cross_entropy(
      model_.transformed(hidden, pass), model_.decoder().weight(), model_.decoder_bias().weight(),
      batch.targets.reshape({-1}), row_weights, weights.dim(1), model_.vocab_shard(), pass.tp);
  if (!batch.pair_labels.defined()) return {tokens, row_weights, {weights}};
  const Var pairs = ops::cross_entropy(model_.pair_scores(hidden, pass), batch.pair_labels);
  const Tensor each = sample_weights(batch.size()),
               all = Tensor::empty({row_weights.size() + batch.size()}, row_weights.dtype(),
                                   row_weights.device());
  all.flat(0, row_weights.size()).copy_from(row_weights);
  all.flat(row_weights.size(), batch.size())
      .copy_from(row_weights_of(each, pass.sample_scale, hidden.value()));
  return {ops::end_to_end({tokens, pairs}), all, {weights, each}};
}

std::vector<Tensor> MaskedTokens::answers(const Var& hidden, const Pass& pass) const {
  const Batch& batch = *pass.batch;
  const Tensor logits =
      ops::linear_sums(model_.transformed(hidden, pass).value(), model_.decoder().weight());
  on_device(logits.device(), [&](auto device) {
    kernels::add_bias(device, logits, model_.decoder_bias().value, logits);
  });
  std::vector<Tensor> made{
      likeliest(logits, model_.vocab_shard(), *pass.tp).reshape({batch.size(), -1})};
  if (!batch.pair_labels.defined()) return made;
  const Tensor scores = model_.pair_scores(hidden, pass).value().to(Device{}).to(DType::f32),
               pairs = Tensor::zeros({batch.size(), 1}, DType::i32);
  for (int64_t i = 0; i < pairs.size(); ++i)
    pairs.data<int32_t>()[i] = scores.data<float>()[2 * i + 1] > scores.data<float>()[2 * i];
  made.push_back(pairs);
  return made;
}

}  // namespace skein
