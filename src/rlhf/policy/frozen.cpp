#include "frozen.h"

#include "skein/checkpoint/parameters.h"

namespace skein::rlhf::policy {
namespace {

PipelineModel telling(LocalModel& model, const PolicyDistribution& distribution) {
  if (model.predictor())
    model.learn(
        std::make_unique<PolicyObjective>(*model.predictor(), nullptr, PolicyRules{distribution}));
  return model.pipeline_model();
}

}  // namespace

FrozenPolicy::FrozenPolicy(const train::PretrainConfig& config, Mesh& mesh,
                           const PolicyDistribution& distribution,
                           const checkpoint::CheckpointInfo& weights)
    : mesh_(mesh),
      model_(config.model, config.parallel, mesh, config.precision()),
      pipeline_(mesh, telling(model_, distribution), ScheduleKind::gpipe) {
  load_weights(weights, model_.parameters(), mesh.world());
  model_.parameters().keep_packed();
}

train::EvaluatedModel FrozenPolicy::evaluated_model(int64_t batch) {
  return {pipeline_, model_.pass(), mesh_, batch};
}

}  // namespace skein::rlhf::policy
