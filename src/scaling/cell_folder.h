// One cell of a sweep on the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/checkpoint/files.h"
#include "skein/scaling/results.h"
#include "skein/scaling/results_store.h"
#include "skein/train/config.h"

namespace skein {

// An exclusive lock of a file, held while it lives; it goes with the process, and works between hosts where the file system has flock.
class FileLock {
 public:
  // Waits for it.
  static std::unique_ptr<FileLock> wait(const std::string& path);
  // Null where another holds it.
  static std::unique_ptr<FileLock> attempt(const std::string& path);

 private:
  explicit FileLock(const std::string& path);
  bool lock(bool wait);

  std::string path_;
  FileDescriptor file_;
};

struct CellOutcome {
  std::string status = "unfinished", reason;
  double loss = kUnknown, train_loss = kUnknown, seconds = kUnknown;
  std::vector<CurvePoint> curve;
};

class CellFolder {
 public:
  explicit CellFolder(std::string path) : path_(std::move(path)) {}
  const std::string& path() const { return path_; }

  std::unique_ptr<FileLock> claim() const;
  bool finished() const;
  // Unfinished where there is no result.
  CellOutcome outcome() const;
  void finish(const CellOutcome& outcome) const;
  void forget_result() const;
  // Whether the run's metrics end in steps that had no finite gradient.
  bool ended_without_gradient() const;
  // Of the run's metrics: the curve, the mean training loss of the last 5% of the steps, the seconds of all steps. loss and status are left.
  CellOutcome measured(int64_t batch_tokens) const;

  // Writes them, or, where there are some, is a usage error naming the first that differs.
  void begin(const Settings& settings) const;
  void check(const Settings& settings) const;
  void remove_checkpoints() const;

 private:
  std::string at(const char* name) const { return path_ + "/" + name; }
  std::string path_;
};

// All options of a run that its result may depend on.
Settings settings_of(const PretrainConfig& run);

}  // namespace skein
