#include "skein/train/watch/stragglers.h"

#include <algorithm>

#include "skein/core/host.h"
#include "skein/core/log.h"

namespace skein::train {
namespace {

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  const size_t half = numbers.size() / 2;
  return numbers.size() % 2 ? numbers[half] : (numbers[half - 1] + numbers[half]) / 2;
}

}  // namespace

SlowRanks::SlowRanks(int ranks, int peers)
    : peers_(peers), in_a_row_(static_cast<size_t>(ranks), 0) {}

std::vector<SlowRanks::Finding> SlowRanks::add(const std::vector<double>& seconds) {
  std::vector<Finding> found;
  for (int rank = 0; rank < std::ssize(seconds); ++rank) {
    const auto first = seconds.begin() + rank / peers_ * peers_;
    const double usual = median({first, first + peers_});
    const double own = seconds[static_cast<size_t>(rank)];
    int& row = in_a_row_[static_cast<size_t>(rank)];
    row = usual >= kShortest && own > usual * (1 + kBeyond) ? row + 1 : 0;
    if (row == kWindows) found.push_back({rank, own / usual - 1});
  }
  return found;
}

Stragglers::Stragglers(Group& world, int peers) : world_(world), slow_(world.size(), peers) {}

void Stragglers::count(double seconds) {
  seconds_ += seconds;
  if (++steps_ % kSteps != 0 || world_.size() == 1) return;
  const auto found = slow_.add(world_.all_gather(std::exchange(seconds_, 0)));
  if (found.empty()) return;
  const auto hosts = world_.all_gather(host_name());
  for (const auto& [rank, beyond] : found)
    log::warn(
        "rank {} (host {}) has computed {:.0f}% longer than the median of the ranks that do the "
        "same, for {} steps, and all wait for it: look at that host's other processes, clock rates "
        "and temperatures",
        rank, hosts[static_cast<size_t>(rank)], 100 * beyond, SlowRanks::kWindows * kSteps);
}

}  // namespace skein::train
