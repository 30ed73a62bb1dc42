#include <filesystem>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/directory.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"

#include "open.h"

namespace skein::checkpoint {
namespace {

constexpr char kAdvice[] = "Name another checkpoint or an empty directory.";

// A folder whose commits are all of superseded starts is not an empty one.
void require_empty(const std::string& folder) {
  const auto left = all_checkpoints(folder);
  if (!left.empty())
    fail_usage(
        "none of the {} checkpoints in {} is taken, the newest of them {}: they were committed by "
        "starts that a later one had superseded, and it does not know of them.\n{}",
        left.size(), folder, left.front().text(), kAdvice);
}

std::vector<std::string> candidates(const std::string& path) {
  if (is_checkpoint_path(path)) {
    require(is_folder(path), "there is no checkpoint {}", path);
    return {plain_path(path)};
  }
  std::vector<std::string> paths;
  const std::string folder = checkpoint_folder(path);
  for (const CheckpointName& name : committed_checkpoints(folder))
    paths.push_back(join_path(folder, name.text()));
  if (paths.empty()) require_empty(folder);
  return paths;
}

std::vector<std::string> shared_candidates(const std::string& path, Group& world) {
  const std::string text =
      from_root(world, [&] { return nlohmann::json(candidates(path)).dump(); });
  return nlohmann::json::parse(text).get<std::vector<std::string>>();
}

// The shards are dealt out, so that the sums of a large checkpoint are taken by all ranks together.
CheckpointInfo verify_checkpoint(const std::string& path, const std::string& run, Group& world) {
  const Manifest manifest = share_manifest(path, world);
  if (!run.empty() && !manifest.run.empty() && manifest.run != run)
    fail_usage("it is of the run {}, and the generations beside it are of the run {}", manifest.run,
               run);
  agree(world, [&] {
    for (int shard = 0; shard < manifest.ranks(); ++shard)
      if (world.takes(shard)) verify_shard(path, manifest.shards[shard]);
  });
  return info_of(path, manifest);
}

}  // namespace

std::vector<CheckpointInfo> list_checkpoints(const std::string& directory) {
  std::vector<CheckpointInfo> infos;
  const std::string folder = checkpoint_folder(directory);
  for (const CheckpointName& name : committed_checkpoints(folder)) {
    CheckpointInfo info{join_path(folder, name.text()), name.step, name.generation, ""};
    const std::string fault =
        refusal_of([&] { info = info_of(info.path, read_manifest(info.path)); });
    if (!fault.empty()) log::warn("{} is damaged: {}", info.path, fault);
    infos.push_back(info);
  }
  return infos;
}

std::optional<CheckpointInfo> find_checkpoint(const std::string& path, Group& world) {
  const std::vector<std::string> paths = shared_candidates(path, world);
  const std::string run = from_root(
      world, [&] { return is_checkpoint_path(path) ? "" : run_id_in(checkpoint_folder(path)); });
  std::string reasons;
  for (const std::string& candidate : paths) {
    std::optional<CheckpointInfo> good;
    const std::string fault = refusal_of([&] { good = verify_checkpoint(candidate, run, world); });
    if (good) return good;
    log::warn("checkpoint {} is refused: {}; an older one is taken if there is one", candidate,
              fault);
    reasons += fmt::format("\n  {}: {}", candidate, fault);
  }
  if (paths.empty()) return std::nullopt;
  fail_usage("none of the {} checkpoints in {} can be used:{}\n{}", paths.size(), path, reasons,
             kAdvice);
}

std::string no_checkpoint(const std::string& path) {
  const std::filesystem::path folder = plain_path(path);
  if (!is_there(folder.string()))
    return path +
           " holds no checkpoint, for there is no such folder; give a run's folder or a checkpoint";
  if (!is_there((folder / "config.json").string()))
    return path + " holds no checkpoint; give a run's folder or a checkpoint";
  const std::string name = folder.filename().string();
  return fmt::format(
      "{} holds no checkpoint but a model of Hugging Face; make a checkpoint of it and give that: "
      "`skein-convert {} runs/{}`",
      path, path, name.starts_with('.') ? "imported" : name);
}

}  // namespace skein::checkpoint
