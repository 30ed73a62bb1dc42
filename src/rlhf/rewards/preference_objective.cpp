#include "skein/rlhf/rewards/preference_objective.h"

#include <numeric>

#include "skein/core/where.h"
#include "skein/ops/attention.h"

namespace skein::rlhf::rewards {

Losses PreferenceObjective::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const data::Batch& batch = *pass.batch;
  const Var scores = scorer_.label_scores(output, pass);
  const Var found =
      ops::preference_losses(ops::reshape(scores, {scores.value().size()}), batch.known, config_);
  return {found, row_weights_of(batch.weights, pass.loss_scale, output.value()), {batch.weights}};
}

std::vector<Tensor> PreferenceObjective::answers(const Var& output, const Pass& pass) const {
  return {scorer_.label_scores(output, pass).value().to(Device{}).to(DType::f32)};
}

PreferenceScores preference_scores(const train::EvaluatedModel& model,
                                   const data::PreferenceSamples& samples) {
  const int64_t count = samples.samples_per_epoch(), answers = samples.shape().answers;
  PreferenceScores made{Tensor::zeros({count, answers}, DType::f32)};
  const auto sums = judge(model, samples, count, 1, true,
                          [&](const data::Batch& batch, const std::vector<Tensor>& said) {
                            train::put_answers(said[0], made.scores.reshape({count, answers, 1}),
                                               batch.sample_ids.data<int64_t>()[0], batch.size());
                          });
  model.mesh.share_results(made.scores);
  made.loss = std::accumulate(sums[0].begin(), sums[0].end(), 0.0) / count;
  return made;
}

}  // namespace skein::rlhf::rewards
