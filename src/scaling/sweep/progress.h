// How far a sweep has come and how long the rest will take.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "skein/core/clock.h"
#include "skein/scaling/sweep/design.h"

#include "cell_folder.h"

namespace skein::scaling::sweep {

class SweepProgress {
 public:
  // held_out: tokens of one evaluation.
  SweepProgress(const std::vector<SweepCell>& cells, const std::vector<CellFolder>& folders,
                double held_out);

  size_t finished_before() const { return before_.size(); }
  // One line on a cell that has ended now.
  std::string line(const SweepCell& cell, const CellOutcome& outcome) const;

 private:
  struct Work {
    size_t finished = 0;               // cells
    double flops_left = 0, flops = 0;  // of training
    double left = 0, made = 0;         // with evaluations, which take time too
  };
  Work work() const;

  const std::vector<SweepCell>& cells_;
  const std::vector<CellFolder>& folders_;
  double held_out_;
  std::set<size_t> before_;
  const double begin_ = steady_seconds();
};

}  // namespace skein::scaling::sweep
