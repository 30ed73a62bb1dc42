// The cells that are left, for one trainer: the largest first, those that failed before last.
#pragma once

#include <vector>

#include "skein/comm/group.h"
#include "skein/scaling/sweep/design.h"

#include "cell_folder.h"

namespace skein::scaling::sweep {

class TrainerQueue {
 public:
  TrainerQueue(const std::vector<SweepCell>& cells, const std::vector<CellFolder>& folders);
  // Collective over the trainer. The number of a cell that this trainer has claimed now, or -1 when
  // all are finished or claimed.
  int64_t next(Group& trainer);
  // On rank 0: lets others see that the cell taken last is no longer worked on.
  void release() { claim_.reset(); }

 private:
  int64_t take();

  const std::vector<CellFolder>& folders_;
  std::vector<size_t> order_;
  FileLock claim_;
};

}  // namespace skein::scaling::sweep
