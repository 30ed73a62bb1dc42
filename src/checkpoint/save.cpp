// The commit protocol (docs/checkpoint-format.md). What holds at any moment:
//
// A committed name stands for a checkpoint that is whole and durable, whoever dies and when. Each
// rank writes and syncs its own shard in a temporary folder; then rank 0 writes the manifest, which
// has every shard's sum; then it renames the folder, once, and syncs the parent. Whatever lacks one
// of these is no checkpoint, and the next start removes it. Rank 0 alone makes, names and removes
// folders.
//
// All ranks learn the outcome of each step before any begins the next (agree.h), so all return, or
// all throw the same. After build() the image is the checkpoint, and its tensors may change.
//
// A start that a newer one has superseded commits nothing: rank 0 looks before it makes the folder
// and just before the rename. Should the rename come too late all the same, readers pass it over.
//
// Older checkpoints go last, once every rank has read its part of the new one back from the disk.
// If that fails they stay, with a warning; the commit stands.
#include <functional>
#include <optional>
#include <utility>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/directory.h"
#include "skein/checkpoint/manifest.h"
#include "skein/checkpoint/shard.h"
#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"

#include "room.h"

namespace skein::checkpoint {
namespace {

std::string checked_metadata(const std::string& metadata) {
  if (metadata.empty()) return "{}";
  if (!nlohmann::json::accept(metadata))
    fail("the metadata to save is not JSON: '{}'", metadata.substr(0, 80));
  return metadata;
}

// One checkpoint on its way: from memory to its final name.
class Saving {
 public:
  Saving(const std::string& directory, CheckpointName name, const std::string& run, Group& world)
      : directory_(directory), name_(name), world_(world) {
    manifest_.run = run;
  }

  bool committed_before() {
    const auto answer = from_root(world_, [&] { return is_there(path()) ? "yes" : "no"; });
    return answer == "yes";
  }

  // The snapshot: afterwards the pieces may change.
  void build(const std::vector<Piece>& pieces) {
    agree(world_, [&] {
      report_ = report_pieces(world_.rank(), pieces);
      image_ = build_shard(
          {name_.step, name_.generation, world_.rank(), world_.size(), manifest_.run}, pieces);
      entry_ = describe_shard(shard_file_name(world_.rank()), image_);
    });
  }

  void write(const std::string& metadata) {
    manifest_.step = name_.step;
    manifest_.generation = name_.generation;
    const int64_t bytes = world_.sum(image_.size());
    const std::string temporary = from_root(world_, [&] {
      refuse_superseded(directory_, name_.generation);
      manifest_.metadata = checked_metadata(metadata);
      check_free_space(directory_, bytes);
      return make_temporary(directory_, name_);
    });
    try {
      agree(world_, [&] {
        unless_superseded(
            [&] { write_new_file(join_path(temporary, entry_.file), image_.text()); });
      });
      commit(temporary);
    } catch (...) {
      if (world_.rank() == 0) remove_tree(temporary);
      throw;
    }
    image_ = Bytes();
  }

  // Older checkpoints go only once the new one has been read back whole.
  void retire(int64_t keep, std::optional<int64_t> good) {
    const auto expired =
        from_root(world_, [&] { return to_remove(keep, good).empty() ? "" : "some"; });
    if (expired.empty()) return;
    agree(world_, [&] { verify_shard(path(), entry_); });
    from_root(world_, [&] {
      for (const CheckpointName& name : to_remove(keep, good)) remove_checkpoint(directory_, name);
      return "";
    });
  }

  std::string path() const { return join_path(directory_, name_.text()); }
  int64_t shard_bytes() const { return entry_.bytes; }

 private:
  std::vector<CheckpointName> to_remove(int64_t keep, std::optional<int64_t> good) const {
    if (good && *good < 0) return {};
    auto all = expired_checkpoints(directory_, keep);
    std::erase_if(all, [&](const CheckpointName& name) { return name.step == good; });
    return all;
  }

  // A newer start removes what this one has under way: then its own calls fail first.
  void unless_superseded(const std::function<void()>& step) const {
    try {
      step();
    } catch (const SystemError&) {
      refuse_superseded(directory_, name_.generation);
      throw;
    }
  }

  void commit(const std::string& temporary) {
    const auto shards = world_.all_gather(report_shard(entry_));
    const auto pieces = world_.all_gather(report_);
    from_root(world_, [&] {
      manifest_.created = utc_now();
      add_reports(manifest_, shards, pieces);
      unless_superseded([&] {
        write_new_file(join_path(temporary, kManifestName), manifest_text(manifest_));
        publish(temporary, directory_, name_);
      });
      log::info("checkpoint {} committed: {} in {} files", path(), readable_size(manifest_.bytes()),
                world_.size());
      return "";
    });
  }

  std::string directory_;
  CheckpointName name_;
  Group& world_;
  Bytes image_;
  ShardEntry entry_;
  std::string report_;
  Manifest manifest_;
};

}  // namespace

CheckpointStore::CheckpointStore(std::string directory, int64_t keep, Group& world,
                                 const std::string& run)
    : directory_(std::move(directory)), run_(run), keep_(keep), world_(world) {
  const std::string started = from_root(world_, [&] {
    check_keep();
    require(!directory_.empty(), "the checkpoint directory has no name");
    if (run_.empty()) run_ = run_id_in(directory_);
    return fmt::format("{} {}", start_generation(directory_, world_.size(), run_), run_);
  });
  generation_ = std::stoll(started);
  run_ = started.substr(started.find(' ') + 1);
}

CheckpointStore::CheckpointStore(const RunClaim& claim, int64_t keep, Group& world)
    : directory_(claim.directory()),
      run_(claim.run()),
      keep_(keep),
      world_(world),
      generation_(claim.generation()) {
  check_keep();
}

void CheckpointStore::check_keep() const {
  require(keep_ >= 1, "{} checkpoints to keep were asked for; at least 1 must stay", keep_);
}

std::string CheckpointStore::save(int64_t step, const std::vector<Piece>& pieces,
                                  const std::string& metadata, std::optional<int64_t> good) {
  SKEIN_CHECK(step >= 0);
  Saving saving(directory_, {generation_, step}, run_, world_);
  if (saving.committed_before()) {
    log::info("step {} is already committed as {}", step, saving.path());
    return saving.path();
  }
  saving.build(pieces);
  saving.write(metadata);
  try {
    saving.retire(keep_, good);
  } catch (const Error& error) {
    log::warn("older checkpoints in {} stay, because {}", directory_, error.what());
  }
  return saving.path();
}

}  // namespace skein::checkpoint
