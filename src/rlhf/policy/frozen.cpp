#include "frozen.h"

#include "skein/checkpoint/parameters.h"

namespace skein {
namespace {

PipelineModel telling(LocalModel& model, const PolicyDistribution& distribution) {
  if (model.predictor())
    model.learn(
        std::make_unique<PolicyObjective>(*model.predictor(), nullptr, PolicyRules{distribution}));
  return model.pipeline_model();
}

}  // namespace

FrozenPolicy::FrozenPolicy(const ModelConfig& model, const ParallelConfig& parallel, Mesh& mesh,
                           DType dtype, const PolicyDistribution& distribution,
                           const CheckpointInfo& weights)
    : mesh_(mesh),
      model_(model, parallel, mesh, dtype),
      pipeline_(mesh, telling(model_, distribution), ScheduleKind::gpipe) {
  load_weights(weights, model_.parameters(), mesh.world());
  model_.parameters().keep_packed();
}

Judged FrozenPolicy::judged(int64_t batch) { return {pipeline_, model_.pass(), mesh_, batch}; }

}  // namespace skein
