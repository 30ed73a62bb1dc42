#include "frozen.h"

#include "skein/checkpoint/parameters.h"

namespace skein::rlhf::policy {

std::unique_ptr<train::LoadedModel> frozen_policy(const train::PretrainConfig& config, Mesh& mesh,
                                                  const PolicyDistribution& distribution,
                                                  const checkpoint::CheckpointInfo& weights) {
  const auto telling = [&](const LocalModel& model) {
    return std::make_unique<PolicyObjective>(*model.predictor(), nullptr,
                                             PolicyRules{distribution});
  };
  auto made = std::make_unique<train::LoadedModel>(config.model, config.parallel,
                                                   config.precision(), mesh, telling);
  load_weights(weights, made->parameters(), mesh.world());
  made->parameters().keep_packed();
  return made;
}

}  // namespace skein::rlhf::policy
