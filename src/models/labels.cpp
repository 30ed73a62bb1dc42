#include "skein/models/labels.h"

#include "skein/core/where.h"
#include "skein/ops/attention.h"
#include "skein/ops/loss.h"

namespace skein {

Losses LabelObjective::losses(const Var& output, const LossPass& pass) const {
  const Within here = Within::part("head");
  const Batch& batch = *pass.batch;
  const Var scores = model_.label_scores(output, pass);
  const int64_t rows = batch.weights.size(), labels = scores.shape()[2];
  const Var found =
      batch.values.defined()
          ? ops::squared_error(ops::reshape(scores, {rows}), batch.values.reshape({rows}))
          : ops::cross_entropy(ops::reshape(scores, {rows, labels}), batch.targets.reshape({-1}));
  return {found, row_weights_of(batch.weights, pass.loss_scale, output.value()), {batch.weights}};
}

std::vector<Tensor> LabelObjective::answers(const Var& output, const Pass& pass) const {
  return {model_.label_scores(output, pass).value().to(Device{}).to(DType::f32)};
}

}  // namespace skein
