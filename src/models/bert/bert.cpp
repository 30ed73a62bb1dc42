#include "skein/models/bert/bert.h"

#include <cmath>

#include "skein/models/terms.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"

namespace skein {
namespace {

// Places 0 of a batch.
data::Batch first_places(const data::Batch& batch) {
  data::Batch first;
  first.tokens = batch.tokens;
  first.places = Tensor::zeros({batch.size(), 1}, DType::i32);
  return placed(first, batch.tokens.device());
}

Tensor sample_weights(int64_t samples) {
  return Tensor::from(std::vector<float>(static_cast<size_t>(samples), 1.0f), {samples, 1});
}

ops::Activation pooler_activation(const ModelConfig& c) {
  const std::optional<MlpKind> own = bert_options(c).pooler_activation;
  return own ? activation_of(*own) : ops::Activation::tanh;
}

class PairTerm : public Objective {
 public:
  explicit PairTerm(const Bert& model) : model_(model) {}
  Losses losses(const Var& hidden, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& hidden, const Pass& pass) const override;

 private:
  const Bert& model_;
};

}  // namespace

MlpKind head_activation(const ModelConfig& c) {
  return bert_options(c).head_activation.value_or(c.activation);
}

double pooler_deviation(const ModelConfig& c) {
  return c.head == Head::vocabulary ? c.init_std : 1 / std::sqrt(static_cast<double>(c.d_model));
}

Bert::Bert(const ModelConfig& c, const ModelPiece& piece, bool sequence_parallel,
           Parameters& parameters)
    : trunk_(c, piece, sequence_parallel, parameters),
      kind_(c.head),
      pool_(bert_options(c).pool),
      dropout_(c.dropout),
      activation_(activation_of(head_activation(c))),
      pooler_activation_(pooler_activation(c)),
      predicts_(piece.predicts) {
  if (!predicts_) return;
  parameters.enter("head", piece.chunk, {Part::pooler});
  if (bert_options(c).pooler)
    pooler_.emplace(parameters,
                    head_layer(c, "pooler", c.d_model, pooler_deviation(c), RowKind::samples));
  if (c.head == Head::vocabulary) {
    add_vocabulary_head(c, piece.chunk, parameters);
    return;
  }
  parameters.enter("head", piece.chunk, {Part::label_head});
  classifier_.emplace(parameters,
                      head_layer(c, "classifier", c.labels, c.head_deviation(),
                                 c.head == Head::sequence ? RowKind::samples : RowKind::places));
}

void Bert::add_vocabulary_head(const ModelConfig& c, int chunk, Parameters& parameters) {
  parameters.enter("head", chunk, {Part::head});
  dense_.emplace(parameters, head_layer(c, "head.dense", c.d_model, c.init_std, RowKind::places));
  NormSpec norm = trunk_.norm_spec("head.norm");
  norm.sequence_parallel = false;
  norm_.emplace(parameters, norm);
  head_ = &add_decoder(c, "head.decoder", chunk, parameters);
  parameters.enter("head", chunk, {Part::head});
  head_bias_ = parameters.add({"head.bias", {c.vocab_size}, Split::vocab, {Start::zeros}});
  if (pooler_) pair_.emplace(parameters, head_layer(c, "pair", 2, c.init_std, RowKind::samples));
}

Flow Bert::forward(const Flow& flow, const Pass& pass) const {
  const Var x = trunk_(flow, pass);
  return predicts_ ? all_positions(x, trunk_.carried_out(pass)) : x;
}

Var Bert::rows(const Var& hidden, const Pass& pass) const {
  const Pass whole = pass.whole();
  const Var x = enter_shards(
      (*norm_)((*dense_)(ops::take_places(hidden, *pass.batch), whole, activation_)), whole);
  return ops::reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]});
}

Var Bert::pooled(const Var& hidden, const Pass& pass) const {
  const Var read = pool_ == Pool::mean ? ops::sample_means(hidden, pass.batch->segments)
                                       : ops::take_places(hidden, first_places(*pass.batch));
  return (*pooler_)(read, pass.whole(), pooler_activation_);
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

Losses PairTerm::losses(const Var& hidden, const LossPass& pass) const {
  const data::Batch& batch = *pass.batch;
  if (!batch.pair_labels.defined()) return {};
  const Tensor each = sample_weights(batch.size());
  return {ops::cross_entropy(model_.pair_scores(hidden, pass), batch.pair_labels),
          row_weights_of(each, pass.sample_scale, hidden.value()),
          {each}};
}

std::vector<Tensor> PairTerm::answers(const Var& hidden, const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  if (!batch.pair_labels.defined()) return {};
  const Tensor scores = model_.pair_scores(hidden, pass).value().to(Device{}).to(DType::f32),
               pairs = Tensor::zeros({batch.size(), 1}, DType::i32);
  for (int64_t i = 0; i < pairs.size(); ++i)
    pairs.data<int32_t>()[i] = scores.data<float>()[2 * i + 1] > scores.data<float>()[2 * i];
  return {pairs};
}

std::unique_ptr<Objective> Bert::objective() const {
  if (classifier_) return std::make_unique<LabelTerm>(*this);
  if (!head_) return nullptr;
  std::vector<std::unique_ptr<Objective>> terms;
  terms.push_back(std::make_unique<TokenTerm>(*this));
  terms.push_back(std::make_unique<PairTerm>(*this));
  return std::make_unique<SumOfTerms>(std::move(terms));
}

}  // namespace skein
