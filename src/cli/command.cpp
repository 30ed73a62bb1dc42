#include "command.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "skein/checkpoint/parameters.h"
#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/kernels/threads.h"
#include "skein/parallel/layout.h"
#include "skein/train/run_state.h"
#include "skein/train/run_weights.h"

namespace skein {
namespace {

// Told before ranks meet and data is read.
void require_device(const Options& options) {
  for (const auto& [key, value] : options.values())
    if (key == "parallel.device" && value == "cuda") require_kernels(DeviceKind::cuda);
}

}  // namespace

bool parse(Options& options, const std::vector<std::string>& args, bool allow_words,
           const std::function<void()>& settle) {
  log::set_rank(detect_launch().rank);  // so that a job says its lines once
  const Options::Outcome outcome = options.parse(args, allow_words);
  if (settle && outcome != Options::Outcome::help) settle();
  switch (outcome) {
    case Options::Outcome::run: require_device(options); return true;
    case Options::Outcome::help: answer(options.help()); return false;
    case Options::Outcome::print_config: answer(options.resolved()); return false;
  }
  return false;
}

void answer(const std::string& text) {
  std::signal(SIGPIPE, SIG_DFL);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void fit_micro_batch(Options& options, const ParallelConfig& layout, int64_t global_batch,
                     int64_t micro_batch, const Group& world) {
  const int64_t fitting =
      fitting_micro_batch(layout, mesh_shape(layout, world.size()), global_batch, micro_batch);
  if (fitting != micro_batch)
    options.set("train.micro_batch", std::to_string(fitting),
                fmt::format("divides train.global_batch={}", global_batch));
}

std::unique_ptr<Group> begin_world() {
  std::unique_ptr<Group> world = start_world();
  const int cores = cores_per_rank(*world);
  if (!std::getenv("OMP_NUM_THREADS")) kernels::set_threads(cores);
  return world;
}

Source open_source(const std::string& path, Group& world, const std::string& option) {
  require(!path.empty(),
          "{0} is empty; give a run's folder or a checkpoint, as --{0}=runs/pretrain", option);
  const auto info = find_weights(path, world);
  require(info.has_value(), "{}={}", option, no_checkpoint(path));
  return source_of(*info, world);
}

Source source_of(const CheckpointInfo& info, Group& world) {
  const RunState state = run_state(info.metadata, info.path);
  const ModelConfig model = stored_model(state, info.path);
  check_held(model, info, world);
  return {info,         model,         stored_masks(state, info.path), state.tokenizer, state.notes,
          state.config, state.imported};
}

void load_weights(const Source& source, LocalModel& local, Mesh& mesh) {
  local.parameters().allocate(false);
  load_checkpoint(source.info, parameter_pieces(local.parameters()), false, mesh.world());
  local.parameters().values_changed();
}

}  // namespace skein
