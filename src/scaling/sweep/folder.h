// The folder of a sweep: its cells, the tables made of them, and who else works there.
#pragma once

#include <string>
#include <vector>

#include "skein/scaling/sweep/design.h"

#include "cell_folder.h"

namespace skein::scaling::sweep {

class SweepFolder {
 public:
  // task: of config.run. cells: of its design; must live as long.
  SweepFolder(const SweepConfig& config, const train::Task& task,
              const std::vector<SweepCell>& cells);

  const std::string& path() const { return path_; }
  const std::vector<CellFolder>& cells() const { return folders_; }
  const CellFolder& cell(size_t index) const { return folders_[index]; }

  // By one rank, before anything is trained. Cells that failed are tried again. A usage error where
  // a cell was begun with other settings or on other data; a failure where the tables cannot be
  // written.
  void prepare(const std::string& resolved) const;
  // By whoever has claimed the cell.
  void begin(size_t index) const { folders_[index].begin(settings_of_cell(index)); }
  // All cells as the folder tells them, in the order of the design.
  std::vector<ScalingRun> rows() const;
  // Writes results.csv, curves.csv and results.h5.
  void publish() const;

  // One rank of a job is there while it works, so that the last one to leave knows that it is.
  void enter() { present_ = share_lock(path_ + "/jobs.lock"); }
  // Whether no other is left.
  bool leave();

 private:
  Settings settings_of_cell(size_t index) const;
  void tell_others() const;

  std::string path_;
  const std::vector<SweepCell>& cells_;
  std::vector<CellFolder> folders_;
  Settings data_, reading_;
  FileLock present_;
};

}  // namespace skein::scaling::sweep
