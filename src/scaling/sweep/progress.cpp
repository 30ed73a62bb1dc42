#include "progress.h"

#include "skein/core/strings.h"
#include "skein/train/progress.h"

#include "parts.h"

namespace skein::scaling::sweep {

SweepProgress::SweepProgress(const std::vector<SweepCell>& cells,
                             const std::vector<CellFolder>& folders, double held_out)
    : cells_(cells), folders_(folders), held_out_(held_out) {
  for (size_t i = 0; i < cells_.size(); ++i)
    if (folders_[i].finished()) before_.insert(i);
}

SweepProgress::Work SweepProgress::work() const {
  Work work;
  for (size_t i = 0; i < cells_.size(); ++i) {
    const double flops = cells_[i].flops, all = flops + evaluation_work(cells_[i], held_out_);
    work.flops += flops;
    if (!folders_[i].finished()) {
      work.flops_left += flops;
      work.left += all;
      continue;
    }
    ++work.finished;
    if (!before_.contains(i)) work.made += all;
  }
  return work;
}

std::string SweepProgress::line(const SweepCell& cell, const CellOutcome& outcome) const {
  const Work now = work();
  const double seconds = steady_seconds() - begin_;
  const std::string end = outcome.status == "done" ? fmt::format("loss {:.4f}", outcome.loss)
                                                   : outcome.status + ": " + outcome.reason;
  return fmt::format(
      "{}/{}  {}  N {}  D {}  C {:.2e}  {}  in {}  | {:.1f}% of the FLOPs left, ETA {}",
      now.finished, cells_.size(), cell.name, readable_count(cell.counts.all),
      readable_count(cell.tokens), cell.flops, end, readable_seconds(outcome.seconds),
      100 * now.flops_left / now.flops, readable_seconds(now.left / now.made * seconds));
}

}  // namespace skein::scaling::sweep
