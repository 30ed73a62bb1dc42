#include "trainer_queue.h"

#include <algorithm>
#include <numeric>

#include "skein/checkpoint/agree.h"

namespace skein::scaling::sweep {

TrainerQueue::TrainerQueue(const std::vector<SweepCell>& cells,
                           const std::vector<CellFolder>& folders)
    : folders_(folders), order_(cells.size()) {
  std::iota(order_.begin(), order_.end(), size_t{0});
  std::ranges::stable_sort(order_, std::greater{}, [&](size_t cell) { return cells[cell].flops; });
  // One that ends the whole job each time must not keep the others from their turn.
  std::stable_partition(order_.begin(), order_.end(),
                        [&](size_t cell) { return !folders[cell].failed_before(); });
}

int64_t TrainerQueue::next(Group& trainer) {
  return std::stoll(checkpoint::from_root(trainer, [&] { return std::to_string(take()); }));
}

int64_t TrainerQueue::take() {
  for (size_t cell : order_) {
    if (folders_[cell].finished()) continue;
    claim_ = folders_[cell].claim();
    // Another may have brought it to its end between the two.
    if (claim_ && !folders_[cell].finished()) return cell;
    release();
  }
  return -1;
}

}  // namespace skein::scaling::sweep
