#include "skein/models/terms.h"

#include "skein/core/where.h"
#include "skein/ops/attention.h"
#include "skein/ops/embedding.h"
#include "skein/ops/likeliest.h"
#include "skein/ops/loss.h"

namespace skein {

Losses SumOfTerms::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  std::vector<Losses> made;
  for (const auto& term : terms_)
    if (Losses one = term->losses(output, pass); one.rows.defined()) made.push_back(std::move(one));
  SKEIN_CHECK(!made.empty());
  if (made.size() == 1) return made.front();
  std::vector<Var> rows;
  std::vector<Tensor> weights;
  int64_t size = 0;
  for (const Losses& one : made) {
    rows.push_back(one.rows);
    weights.insert(weights.end(), one.weights.begin(), one.weights.end());
    size += one.row_weights.size();
  }
  const Tensor& like = made.front().row_weights;
  const Tensor all = Tensor::empty({size}, like.dtype(), like.device());
  int64_t begin = 0;
  for (const Losses& one : made) {
    all.flat(begin, one.row_weights.size()).copy_from(one.row_weights);
    begin += one.row_weights.size();
  }
  return {ops::end_to_end(rows), all, weights};
}

std::vector<Tensor> SumOfTerms::answers(const Var& output, const Pass& pass) const {
  std::vector<Tensor> made;
  for (const auto& term : terms_)
    for (Tensor& said : term->answers(output, pass)) made.push_back(std::move(said));
  return made;
}

namespace {

// What a term with smoothed targets makes: their rows, and behind them the plain losses, without
// weight.
Losses with_plain(const Var& smoothed, const Tensor& plain, const Tensor& row_weights,
                  const Tensor& weights) {
  const int64_t count = row_weights.size();
  const Tensor all = Tensor::zeros({2 * count}, row_weights.dtype(), row_weights.device());
  all.flat(0, count).copy_from(row_weights);
  return {ops::end_to_end({smoothed, Var(plain)}), all, {weights, weights}};
}

}  // namespace

Var TokenTerm::rows(const Var& output, const LossPass& pass, const Tensor& row_weights,
                    const ops::RowExtras& extras) const {
  const Tensor& targets = pass.batch->targets;
  const ops::VocabHead head{predictor_.head().weight(), predictor_.head_bias(),
                            predictor_.vocab_shard(), pass.tp};
  return ops::linear_cross_entropy(predictor_.rows(output, pass), head, targets.reshape({-1}),
                                   row_weights, targets.dim(1), extras);
}

Losses TokenTerm::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const Tensor& weights = pass.batch->weights;
  const Tensor row_weights = pass.row_weights.defined()
                                 ? pass.row_weights
                                 : row_weights_of(weights, pass.loss_scale, output.value());
  if (label_smoothing_ == 0 || !pass.train)
    return {rows(output, pass, row_weights, {}), row_weights, {weights}};
  const Tensor plain = row_weights.like();
  ops::RowExtras extras;
  extras.smoothed = ops::SmoothedLoss{{label_smoothing_, predictor_.head().shape[0]}, Out(plain)};
  return with_plain(rows(output, pass, row_weights, extras), plain, row_weights, weights);
}

std::vector<Tensor> TokenTerm::answers(const Var& output, const Pass& pass) const {
  const Tensor logits = predictor_.logits(predictor_.rows(output, pass).value());
  return {
      ops::likeliest(logits, predictor_.vocab_shard(), *pass.tp).reshape({pass.batch->size(), -1})};
}

Losses LabelTerm::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const data::Batch& batch = *pass.batch;
  const Var scores = scorer_.label_scores(output, pass);
  const int64_t rows = batch.weights.size(), labels = scores.shape()[2],
                places = scores.shape()[0] * scores.shape()[1];
  const Tensor row_weights = row_weights_of(batch.weights, pass.loss_scale, output.value());
  if (batch.values.defined())
    return {ops::squared_error(ops::reshape(scores, {rows, 1}), batch.values.reshape({rows, 1})),
            row_weights,
            {batch.weights}};
  SKEIN_CHECK_EQ(rows % places, 0);
  const Var of_places = ops::reshape(scores, {places, labels}),
            all = rows == places ? of_places : ops::repeat_rows(of_places, rows / places);
  const Tensor targets = batch.targets.reshape({-1});
  if (label_smoothing_ == 0 || !pass.train)
    return {ops::cross_entropy(all, targets), row_weights, {batch.weights}};
  const Tensor plain = row_weights.like();
  const ops::SmoothedLoss smoothed{{label_smoothing_, labels}, Out(plain)};
  return with_plain(ops::cross_entropy(all, targets, smoothed), plain, row_weights, batch.weights);
}

std::vector<Tensor> LabelTerm::answers(const Var& output, const Pass& pass) const {
  return {scorer_.label_scores(output, pass).value().to(Device{}).to(DType::f32)};
}

}  // namespace skein
