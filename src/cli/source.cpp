#include "command.h"
#include "skein/checkpoint/parameters.h"
#include "skein/train/run_state.h"

namespace skein {

Source open_source(const std::string& path, Group& world) {
  require(!path.empty(), "checkpoint.path is empty; give a run's folder or a checkpoint, as --checkpoint.path=runs/pretrain");
  const auto info = find_checkpoint(path, world);
  require(info.has_value(), "checkpoint.path={} holds no checkpoint; give a run's folder or a checkpoint", path);
  const RunState state = run_state(info->metadata, info->path);
  return {*info, stored_model(state, info->path), state.tokenizer};
}

void load_weights(const Source& source, LocalGpt& local, Mesh& mesh) {
  local.parameters().allocate(false);
  load_checkpoint(source.info, parameter_pieces(local.parameters()), false, mesh.world());
}

}  // namespace skein
