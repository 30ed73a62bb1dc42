#include "skein/train/trained_model.h"

#include "skein/core/error.h"
#include "skein/models/architecture.h"
#include "skein/train/run_weights.h"

#include "stored_section.h"

namespace skein::train {

TrainedModel trained_model(const checkpoint::CheckpointInfo& info, Group& world) {
  RunState state = run_state(info.metadata, info.path);
  const ModelConfig model = stored_model(state, info.path);
  check_held(model, checkpoint_tensors(info, world), info.path);
  const auto mlm = stored_section<data::MaskConfig>(state, {"mlm."}, info.path);
  const auto noise = stored_section<data::NoiseConfig>(state, {"noise."}, info.path);
  return {info, std::move(state), model, mlm, noise};
}

TrainedModel open_trained_model(const std::string& path, Group& world, const std::string& option) {
  require(!path.empty(),
          "{0} is empty; give a run's folder or a checkpoint, as --{0}=runs/pretrain", option);
  const auto info = find_weights(path, world);
  require(info.has_value(), "{}={}", option, checkpoint::no_checkpoint(path));
  return trained_model(*info, world);
}

void require_tokenizer(const TrainedModel& source) {
  require(!source.model.architecture->reads_images(),
          "{} reads pictures, and this is for texts; skein eval, predict, embed and finetune take "
          "pictures",
          source.info.path);
  require(!source.model.architecture->reads_graphs(),
          "{} reads graphs, and this is for texts; skein eval, predict and embed take graphs",
          source.info.path);
  if (source.state.tokenizer.empty())
    fail_usage("{}", no_tokenizer(source.state, source.info.path));
}

}  // namespace skein::train
