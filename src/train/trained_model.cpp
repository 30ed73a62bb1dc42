#include "skein/train/trained_model.h"

#include <algorithm>

#include "skein/checkpoint/parameters.h"
#include "skein/comm/flight_recorder.h"
#include "skein/comm/watchdog.h"
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

TrainedModel open_trained_model(const std::string& path, double timeout, Group& world,
                                const std::string& option) {
  require(!path.empty(),
          "{0} is empty; give a run's folder or a checkpoint, as --{0}=runs/pretrain", option);
  const WatchedPhase here("opening the model");
  const auto watchdog = root_watchdog(world, timeout, 0);
  const auto info = find_weights(path, world);
  require(info.has_value(), "{}={}", option, checkpoint::no_checkpoint(path));
  return trained_model(*info, world);
}

namespace {

// Those that take a model that reads no texts.
const char* commands_for(Reads reads) {
  switch (reads) {
    case Reads::pictures: return "eval, predict, embed and finetune";
    case Reads::graphs: return "eval, predict, embed, attend and finetune";
    case Reads::stories:
    case Reads::texts: break;
  }
  return "eval, predict and attend";
}

}  // namespace

void require_tokenizer(const TrainedModel& source) {
  const Reads reads = source.model.architecture->reads();
  require(reads == Reads::texts, "{} reads {}, and this is for texts; skein {} take {}",
          source.info.path, name_of(reads), commands_for(reads), name_of(reads));
  if (source.state.tokenizer.empty())
    fail_usage("{}", no_tokenizer(source.state, source.info.path));
}

std::vector<int32_t> text_beginning(const TrainedModel& source) {
  if (!untrained_import(source.state) || !source.model.architecture->continues_text(source.model))
    return {};
  return text_frame(*source.state.tokenizer).before;
}

void begin_with(const std::vector<int32_t>& beginning, std::vector<int32_t>& tokens) {
  if (std::ranges::mismatch(beginning, tokens).in1 != beginning.end())
    tokens.insert(tokens.begin(), beginning.begin(), beginning.end());
}

namespace {

PipelineModel asked(LocalModel& local, const Mesh& mesh, const MakeObjective& objective) {
  if (objective && mesh.last_stage()) local.learn(objective(local));
  return local.pipeline_model();
}

}  // namespace

LoadedModel::LoadedModel(const ModelConfig& model, const ParallelConfig& parallel, DType dtype,
                         Group& world, const MakeObjective& objective)
    : LoadedModel(std::make_unique<Mesh>(world, mesh_shape(parallel, world.size())), model,
                  parallel, dtype, objective) {}

LoadedModel::LoadedModel(const ModelConfig& model, const ParallelConfig& parallel, DType dtype,
                         Mesh& mesh, const MakeObjective& objective)
    : mesh_(mesh),
      local_(model, parallel, mesh, dtype),
      pipeline_(mesh, asked(local_, mesh, objective), parallel.schedule) {}

LoadedModel::LoadedModel(std::unique_ptr<Mesh> mesh, const ModelConfig& model,
                         const ParallelConfig& parallel, DType dtype,
                         const MakeObjective& objective)
    : LoadedModel(model, parallel, dtype, *mesh, objective) {
  own_mesh_ = std::move(mesh);
}

LoadedModel::LoadedModel(const TrainedModel& source, const ParallelConfig& parallel, DType dtype,
                         Group& world, const MakeObjective& objective)
    : LoadedModel(source.model, parallel, dtype, world, objective) {
  load_weights(source.info, local_.parameters(), mesh_.world());
}

}  // namespace skein::train
