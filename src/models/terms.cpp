#include "skein/models/terms.h"

#include "skein/core/where.h"
#include "skein/ops/attention.h"
#include "skein/ops/likeliest.h"
#include "skein/ops/loss.h"

namespace skein {

Losses SumOfTerms::losses(const Var& output, const LossPass& pass) const {
  const Within here = Within::part("head");
  std::vector<Var> rows;
  std::vector<Tensor> row_weights, weights;
  int64_t size = 0;
  for (const auto& term : terms_) {
    TermLosses made = term->losses(output, pass);
    if (!made.rows.defined()) continue;
    size += made.row_weights.size();
    rows.push_back(std::move(made.rows));
    row_weights.push_back(std::move(made.row_weights));
    weights.push_back(std::move(made.weights));
  }
  SKEIN_CHECK(!rows.empty());
  if (rows.size() == 1) return {rows.front(), row_weights.front(), weights};
  const Tensor all =
      Tensor::empty({size}, row_weights.front().dtype(), row_weights.front().device());
  int64_t begin = 0;
  for (const Tensor& part : row_weights) {
    all.flat(begin, part.size()).copy_from(part);
    begin += part.size();
  }
  return {ops::end_to_end(rows), all, weights};
}

std::vector<Tensor> SumOfTerms::answers(const Var& output, const Pass& pass) const {
  std::vector<Tensor> made;
  for (const auto& term : terms_)
    if (Tensor said = term->answers(output, pass); said.defined()) made.push_back(std::move(said));
  return made;
}

TermLosses TokenTerm::losses(const Var& output, const LossPass& pass) const {
  const Tensor &weights = pass.batch->weights, targets = pass.batch->targets.reshape({-1});
  const Tensor row_weights = pass.row_weights.defined()
                                 ? pass.row_weights
                                 : row_weights_of(weights, pass.loss_scale, output.value());
  const ops::VocabHead head{predictor_.head().weight(), predictor_.head_bias(),
                            predictor_.vocab_shard(), pass.tp};
  return {ops::linear_cross_entropy(predictor_.rows(output, pass), head, targets, row_weights,
                                    weights.dim(1)),
          row_weights, weights};
}

Tensor TokenTerm::answers(const Var& output, const Pass& pass) const {
  const Tensor logits = predictor_.logits(predictor_.rows(output, pass).value());
  return ops::likeliest(logits, predictor_.vocab_shard(), *pass.tp)
      .reshape({pass.batch->size(), -1});
}

TermLosses LabelTerm::losses(const Var& output, const LossPass& pass) const {
  const Batch& batch = *pass.batch;
  const Var scores = scorer_.label_scores(output, pass);
  const int64_t rows = batch.weights.size(), labels = scores.shape()[2];
  const Var found =
      batch.values.defined()
          ? ops::squared_error(ops::reshape(scores, {rows}), batch.values.reshape({rows}))
          : ops::cross_entropy(ops::reshape(scores, {rows, labels}), batch.targets.reshape({-1}));
  return {found, row_weights_of(batch.weights, pass.loss_scale, output.value()), batch.weights};
}

Tensor LabelTerm::answers(const Var& output, const Pass& pass) const {
  return scorer_.label_scores(output, pass).value().to(Device{}).to(DType::f32);
}

std::unique_ptr<Objective> token_objective(const Predictor& predictor) {
  return std::make_unique<SumOfTerms>(std::make_unique<TokenTerm>(predictor));
}

std::unique_ptr<Objective> label_objective(const Scorer& scorer) {
  return std::make_unique<SumOfTerms>(std::make_unique<LabelTerm>(scorer));
}

}  // namespace skein
