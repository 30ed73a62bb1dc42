// One cell of a sweep on the disk.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/core/files/files.h"
#include "skein/scaling/laws/results.h"
#include "skein/scaling/laws/results_store.h"
#include "skein/train/config.h"

namespace skein::scaling::sweep {

// An exclusive lock of a file, held while it lives; it goes with the process, and works between
// hosts where the file system has flock.
using FileLock = std::unique_ptr<const FileDescriptor>;
// Waits for it.
FileLock wait_for_lock(const std::string& path);
// Null where another holds it.
FileLock attempt_lock(const std::string& path);
// Waits for one that others may hold in this way too, but nobody in the ways above.
FileLock share_lock(const std::string& path);

struct CellOutcome {
  std::string status = "unfinished", reason;
  double loss = kUnknown, train_loss = kUnknown, seconds = kUnknown;
  std::vector<CurvePoint> curve;
  int64_t evaluations = 0;  // of measured(): held-out losses in the metrics, finite or not
};

class CellFolder {
 public:
  explicit CellFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  FileLock claim() const;
  bool finished() const;
  // Unfinished where there is no result, with the reason of an earlier failure. A usage error where
  // the result is damaged.
  CellOutcome outcome() const;
  void finish(const CellOutcome& outcome) const;
  // A cell that has failed, and that nobody is at, is unfinished again.
  void retry() const;
  // Whether it is unfinished because of that, or has ended its process twice without a checkpoint
  // in between: then others should come first.
  bool failed_before() const;
  // Whether the run's metrics end in steps that had no finite gradient.
  bool ended_without_gradient() const;
  // Of the run's metrics: the curve, the mean training loss of the last 5% of the steps, the
  // seconds of all steps, the number of evaluations.
  CellOutcome measured(int64_t batch_tokens) const;

  // Writes them, or, where there are some, is a usage error naming the first that differs. end()
  // follows, unless the process is killed.
  void begin(const Settings& settings) const;
  void end() const;
  void check(const Settings& settings) const;
  // Where the run keeps its checkpoints.
  std::string checkpoints() const { return at("checkpoints"); }
  // Gives them the name `refused-checkpoints`, instead of what had it: the run begins anew, and
  // their bytes can still be looked at.
  void set_aside_checkpoints() const;
  // Those that were set aside, too.
  void remove_checkpoints() const;

 private:
  std::string at(const char* name) const { return path_ + "/" + name; }
  bool has(const char* name) const;
  int64_t checkpoint_step() const;
  int64_t deaths() const;

  std::string path_;
};

// All options of a run that its result may depend on.
Settings settings_of(const train::PretrainConfig& run);

}  // namespace skein::scaling::sweep
