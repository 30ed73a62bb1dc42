// Saves and loads a run's state as sharded HDF5: one file a rank, a manifest, one atomic commit.
// docs/checkpoint-format.md documents the layout; h5py reads it.
//
//   DIR/step-00000100.g000003/         final name: step and generation
//     manifest.json                    every shard's size and CRC32C a MiB, tensor index, metadata
//     rank-00000.h5 ... rank-0000N.h5
//
// Protocol (save): every rank builds its file in memory (HDF5 core driver, latest format), checks
// free space, writes with its own loop, fsyncs; all agree; rank 0 writes the manifest, fsyncs file
// and directory, renames the temporary directory, fsyncs the parent. Only then is it committed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/checkpoint/claim.h"
#include "skein/checkpoint/piece.h"
#include "skein/comm/group.h"
#include "skein/core/files/files.h"

namespace skein::checkpoint {

struct CheckpointInfo {
  std::string path;  // of the step's directory
  int64_t step = 0;
  int64_t generation = 0;
  std::string metadata;      // JSON given to save(): config, cursor, versions
  std::string created = {};  // UTC, "2024-05-06T07:08:09Z"
  // CRC-32C of its shards' sums: the same for a copy, another one for other bytes; 0 where it is
  // not known
  uint32_t sum = 0;
};

class CheckpointStore {
 public:
  // `directory` is made if it does not exist (rank 0). keep: how many committed checkpoints stay
  // (>= 1; at least 2 are kept while a newer one is being verified). Collective: takes a new
  // generation number. A directory that cannot be used is an error as start_generation
  // (directory.h) says.
  // run: the id of the run that commits; "": that of the generations there, if they have one.
  CheckpointStore(std::string directory, int64_t keep, Group& world, const std::string& run = "");
  // With the generation that the claim has taken, in its directory; the claim outlives the store.
  // milestones: of the commits whose step is a multiple of it the newest stays, too; 0: none.
  CheckpointStore(const RunClaim& claim, int64_t keep, Group& world, int64_t milestones = 0);
  // Waits for what this rank writes.
  ~CheckpointStore();

  // Collective. Commits the pieces of all ranks under `step`; `metadata` is rank 0's JSON. Returns
  // the path. A step that this store has committed before is left as it is.
  // On any rank's failure nothing becomes visible, the temporary is removed and every rank gets the
  // same Error(failure) with the reason (rank, path, errno text); a process that a newer generation
  // has fenced off gets Error(superseded), for good.
  // good: the step of the newest commit whose weights are known to be of use. It is not removed,
  // whatever `keep` says. Below 0: none is known, and no commit is removed. Absent: `keep` alone
  // counts.
  std::string save(int64_t step, const std::vector<Piece>& pieces, const std::string& metadata,
                   std::optional<int64_t> good = {});

  // The same beside training, a step at a time; one checkpoint at most is under way.
  // Collective. Takes the snapshot, after which the pieces may change, and begins to sum and write
  // it. False where that step was committed before.
  // beside: on a thread of lowest priority, and the snapshot's memory is kept for the next one;
  // else here, in memory that is taken for its time only.
  bool begin(int64_t step, const std::vector<Piece>& pieces, const std::string& metadata,
             std::optional<int64_t> good = {}, bool beside = true);
  bool under_way() const { return saving_ != nullptr; }
  // Collective, now and then while one is under way. True when it was committed: it is durable, and
  // the log says so. What older ones make room for is still under way then. Errors as of save(),
  // and then none is under way. wait: for the step that is being made.
  bool advance(bool wait);
  // Collective. Removes the commits of later steps, for these will be made once more.
  void remove_after(int64_t step);
  // Of the snapshot that is kept, on this rank.
  int64_t memory() const;

 private:
  class Saving;

  void check_keep() const;
  void end_saving();

  std::string directory_, run_;
  int64_t keep_, milestones_ = 0;
  Group& world_;
  int64_t generation_ = 0;
  std::unique_ptr<Saving> saving_;
  Bytes memory_;
};

// Committed checkpoints in a directory (or in the `checkpoints` folder of a run's), newest first,
// unverified; of damaged ones, metadata, created and sum are missing. Empty when there is none;
// Error(failure) where one cannot be read.
std::vector<CheckpointInfo> list_checkpoints(const std::string& directory);

// Collective. The newest checkpoint in the folder `path` whose manifest and shards all verify.
// - One that is damaged (bytes without their sum, a file cut or missing), or of another run than
//   the folder's generations, is passed over for the next older one, with a warning that says why.
// - nullopt: the folder holds no checkpoint.
// - Error(usage): it holds some, but none is good (with every reason), or all are commits of
//   superseded starts.
// - Error(failure): one could not be looked at or read, also when tried again; no older one is
//   taken.
//
// `path` may also be a run's folder, or one checkpoint's own directory: then only that one is
// tried.
std::optional<CheckpointInfo> find_checkpoint(const std::string& path, Group& world);

// "PATH holds no checkpoint", what lies there instead, and what to do: for messages. Looks for a
// model of Hugging Face.
std::string no_checkpoint(const std::string& path);

// Collective. Names and shapes of the tensors that a checkpoint holds.
std::map<std::string, std::vector<int64_t>> checkpoint_tensors(const CheckpointInfo& info,
                                                               Group& world);

// Collective. Fills every target piece from the checkpoint, whatever layout wrote it; each element
// of each target must be covered exactly once. With `strict`, also an error when the checkpoint
// holds tensors that no rank asked for. Missing, extra and mis-shaped tensors are listed by name
// with both shapes. Floating dtypes may differ (values are converted, with rounding to nearest
// even), others may not. CRC32C of each shard is verified before HDF5 opens it. After an error the
// targets hold no particular values.
void load_checkpoint(const CheckpointInfo& info, const std::vector<Piece>& targets, bool strict,
                     Group& world);

}  // namespace skein::checkpoint
