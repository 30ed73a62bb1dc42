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
// Each step is work of files alone, on a thread beside training where that is wanted; what ranks
// tell each other they tell between two of them, on the thread that calls. So no step is begun
// before it is done on all ranks, and nothing of a later one has happened where one fails.
//
// A start that a newer one has superseded commits nothing: rank 0 looks before it makes the folder
// and just before the rename. Should the rename come too late all the same, readers pass it over.
//
// Older checkpoints go last, once every rank has read its part of the new one back from the disk.
// If that fails they stay, with a warning; the commit stands.
#include <algorithm>
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
#include "skein/tensor/buffer.h"

#include "background.h"
#include "room.h"

namespace skein::checkpoint {
namespace {

std::string checked_metadata(const std::string& metadata) {
  if (metadata.empty()) return "{}";
  if (!nlohmann::json::accept(metadata))
    fail("the metadata to save is not JSON: '{}'", metadata.substr(0, 80));
  return metadata;
}

}  // namespace

// One checkpoint on its way: from memory to its final name, and what goes because of it.
class CheckpointStore::Saving {
 public:
  struct Retention {
    int64_t keep = 1, milestones = 0;
    std::optional<int64_t> good;
  };

  // memory: what may hold the snapshot, of an earlier one.
  Saving(const std::string& directory, CheckpointName name, const std::string& run, Group& world,
         Retention retention, bool beside, Bytes memory)
      : directory_(directory),
        name_(name),
        world_(world),
        retention_(retention),
        beside_(beside),
        image_(std::move(memory)) {
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
      image_ =
          build_shard({name_.step, name_.generation, world_.rank(), world_.size(), manifest_.run},
                      pieces, std::move(image_));
    });
  }

  void begin_write(const std::string& metadata) {
    manifest_.step = name_.step;
    manifest_.generation = name_.generation;
    const int64_t bytes = world_.sum(image_.size());
    temporary_ = from_root(world_, [&] {
      refuse_superseded(directory_, name_.generation);
      manifest_.metadata = checked_metadata(metadata);
      check_free_space(directory_, bytes);
      return make_temporary(directory_, name_);
    });
    step_ = Step::write;
    work_.begin(
        [this] {
          entry_ = describe_shard(shard_file_name(world_.rank()), image_);
          unless_superseded(
              [&] { write_new_file(join_path(temporary_, entry_.file), image_.text()); });
        },
        beside_);
  }

  // Collective. The next step, where this one is done on all ranks; `wait`: waits for that. True
  // when this was the commit.
  bool advance(bool wait) {
    if (wait ? false : world_.any(!work_.done())) return false;
    switch (step_) {
      case Step::write: return end_write(), false;
      case Step::commit: return end_commit(), true;
      case Step::verify:
      case Step::remove: return retire(), false;
      case Step::none: return false;
    }
    return false;
  }

  bool over() const { return step_ == Step::none; }
  int64_t step() const { return name_.step; }
  std::string path() const { return join_path(directory_, name_.text()); }
  int64_t bytes() const { return image_.capacity(); }
  // What the next one may have: where training waits, its memory is the training's again.
  Bytes memory() { return beside_ ? std::move(image_) : Bytes(); }

 private:
  enum class Step { none, write, commit, verify, remove };

  // Without it a step that fails leaves nothing behind.
  void or_remove(const std::function<void()>& end) {
    try {
      end();
    } catch (...) {
      step_ = Step::none;
      if (world_.rank() == 0) remove_tree(temporary_);
      throw;
    }
  }

  void end_write() {
    or_remove([&] {
      agree(world_, [&] { work_.finish(); });
      const auto shards = world_.all_gather(report_shard(entry_));
      const auto pieces = world_.all_gather(report_);
      from_root(world_, [&] {
        manifest_.created = utc_now();
        add_reports(manifest_, shards, pieces);
        return "";
      });
    });
    step_ = Step::commit;
    if (world_.rank() == 0) work_.begin([this] { commit(); }, beside_);
  }

  void commit() {
    unless_superseded([&] {
      write_new_file(join_path(temporary_, kManifestName), manifest_text(manifest_));
      publish(temporary_, directory_, name_);
    });
    log::info("checkpoint {} committed: {} in {} files", path(), readable_size(manifest_.bytes()),
              world_.size());
  }

  void end_commit() {
    or_remove([&] {
      from_root(world_, [&] {
        work_.finish();
        return "";
      });
    });
    retire();
  }

  // Older checkpoints go only once the new one has been read back whole.
  void retire() {
    try {
      switch (step_) {
        case Step::commit: return begin_verify();
        case Step::verify: return begin_remove();
        default:
          from_root(world_, [&] {
            work_.finish();
            return "";
          });
          step_ = Step::none;
      }
    } catch (const LostRank&) {
      throw;
    } catch (const Error& error) {
      step_ = Step::none;
      log::warn("older checkpoints in {} stay, because {}", directory_, error.what());
    }
  }

  void begin_verify() {
    const auto expired = from_root(world_, [&] { return to_remove().empty() ? "" : "some"; });
    step_ = expired.empty() ? Step::none : Step::verify;
    if (!over()) work_.begin([this] { verify_shard(path(), entry_); }, beside_);
  }

  void begin_remove() {
    agree(world_, [&] { work_.finish(); });
    step_ = Step::remove;
    if (world_.rank() > 0) return;
    work_.begin(
        [this] {
          for (const CheckpointName& name : to_remove()) remove_checkpoint(directory_, name);
        },
        beside_);
  }

  std::vector<CheckpointName> to_remove() const {
    const auto& [keep, milestones, good] = retention_;
    if (good && *good < 0) return {};
    const std::optional<int64_t> milestone = newest_multiple(milestones);
    auto all = expired_checkpoints(directory_, keep);
    std::erase_if(all, [&](const CheckpointName& name) {
      return name.step == good || name.step == milestone;
    });
    return all;
  }

  std::optional<int64_t> newest_multiple(int64_t of) const {
    if (of == 0) return {};
    const auto all = committed_checkpoints(directory_);
    const auto found =
        std::ranges::find_if(all, [of](const CheckpointName& name) { return name.step % of == 0; });
    return found == all.end() ? std::nullopt : std::optional(found->step);
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

  std::string directory_, temporary_;
  CheckpointName name_;
  Group& world_;
  Retention retention_;
  bool beside_;
  Bytes image_;
  ShardEntry entry_;
  std::string report_;
  Manifest manifest_;
  Step step_ = Step::none;
  BackgroundWork work_;  // goes first: it uses all of these
};

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

CheckpointStore::CheckpointStore(const RunClaim& claim, int64_t keep, Group& world,
                                 int64_t milestones)
    : directory_(claim.directory()),
      run_(claim.run()),
      keep_(keep),
      milestones_(milestones),
      world_(world),
      generation_(claim.generation()) {
  check_keep();
}

void CheckpointStore::check_keep() const {
  require(keep_ >= 1, "{} checkpoints to keep were asked for; at least 1 must stay", keep_);
}

CheckpointStore::~CheckpointStore() = default;

bool CheckpointStore::begin(int64_t step, const std::vector<Piece>& pieces,
                            const std::string& metadata, std::optional<int64_t> good, bool beside) {
  SKEIN_CHECK(step >= 0);
  SKEIN_CHECK(!under_way());
  if (!beside) release_unused_memory();
  auto saving = std::make_unique<Saving>(directory_, CheckpointName{generation_, step}, run_,
                                         world_, Saving::Retention{keep_, milestones_, good},
                                         beside, std::exchange(memory_, Bytes()));
  if (saving->committed_before()) {
    log::info("step {} is already committed as {}", step, saving->path());
    return false;
  }
  saving->build(pieces);
  saving->begin_write(metadata);
  saving_ = std::move(saving);
  return true;
}

bool CheckpointStore::advance(bool wait) {
  if (!under_way()) return false;
  try {
    const bool committed = saving_->advance(wait);
    if (saving_->over()) end_saving();
    return committed;
  } catch (...) {
    end_saving();
    throw;
  }
}

void CheckpointStore::remove_after(int64_t step) {
  from_root(world_, [&] {
    for (const CheckpointName& name : committed_checkpoints(directory_))
      if (name.step > step) remove_checkpoint(directory_, name);
    return "";
  });
}

int64_t CheckpointStore::memory() const { return saving_ ? saving_->bytes() : memory_.capacity(); }

void CheckpointStore::end_saving() {
  memory_ = saving_->memory();
  saving_ = nullptr;
}

std::string CheckpointStore::save(int64_t step, const std::vector<Piece>& pieces,
                                  const std::string& metadata, std::optional<int64_t> good) {
  while (under_way()) advance(true);
  if (begin(step, pieces, metadata, good, false))
    while (under_way()) advance(true);
  return join_path(directory_, CheckpointName{generation_, step}.text());
}

}  // namespace skein::checkpoint
