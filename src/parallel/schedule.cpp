#include "skein/parallel/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "skein/core/error.h"

namespace skein {
namespace {

// Forwards before the first backward, where there are as many.
int64_t warm_up_of(int stage, int stages, int chunks) {
  const int64_t behind = stages - stage - 1;
  return chunks == 1 ? behind : 2 * behind + int64_t{chunks - 1} * stages;
}

// The k-th forward (or backward) of a rank that visits its chunks in groups of `stages`
// micro-batches.
Action grouped(Action::Kind kind, int k, int stages, int chunks) {
  const int group = k / (stages * chunks), inside = k % (stages * chunks);
  const int chunk = inside / stages;
  return {kind, group * stages + inside % stages,
          kind == Action::forward ? chunk : chunks - 1 - chunk};
}

std::vector<Action> warm_up_then_pairs(int warm_up, int total, int stages, int chunks) {
  std::vector<Action> actions;
  for (int k = 0; k < warm_up; ++k) actions.push_back(grouped(Action::forward, k, stages, chunks));
  for (int k = warm_up; k < total; ++k) {
    actions.push_back(grouped(Action::forward, k, stages, chunks));
    actions.push_back(grouped(Action::backward, k - warm_up, stages, chunks));
  }
  for (int k = total - warm_up; k < total; ++k)
    actions.push_back(grouped(Action::backward, k, stages, chunks));
  return actions;
}

std::vector<Action> all_forward_then_backward(int micro_batches, int chunks) {
  std::vector<Action> actions;
  for (int c = 0; c < chunks; ++c)
    for (int m = 0; m < micro_batches; ++m) actions.push_back({Action::forward, m, c});
  for (int c = chunks - 1; c >= 0; --c)
    for (int m = 0; m < micro_batches; ++m) actions.push_back({Action::backward, m, c});
  return actions;
}

// Where to cut layers so that the largest part is smallest.
class EvenSplit {
 public:
  EvenSplit(const std::vector<double>& work, int parts) : before_(work.size() + 1) {
    std::partial_sum(work.begin(), work.end(), before_.begin() + 1);
    least_.push_back(before_);
    for (int part = 1; part < parts; ++part) {
      std::vector<double> made(before_.size(), std::numeric_limits<double>::infinity());
      for (size_t end = static_cast<size_t>(part) + 1; end < made.size(); ++end)
        made[end] = load(least_.back(), crossing(part, end, 0), end, 0);
      least_.push_back(std::move(made));
    }
  }

  // Where the last of parts 0 to `part`, which end at layer `end`, begins. Of those that are as
  // good the one whose work is nearest below an even share.
  size_t last_begins(int part, size_t end, double head) const {
    const std::vector<double>& others = least_[static_cast<size_t>(part) - 1];
    const double share = before_[end] / (part + 1),
                 best = load(others, crossing(part, end, head), end, head);
    size_t found = end;
    for (size_t begin = end - 1; begin >= static_cast<size_t>(part); --begin)
      if (load(others, begin, end, head) <= best &&
          (found == end || before_[end] - before_[begin] <= share))
        found = begin;
    return found;
  }

 private:
  double load(const std::vector<double>& others, size_t begin, size_t end, double head) const {
    return std::max(others[begin], before_[end] - before_[begin] + head);
  }
  // The best beginning: others grow with it, and the last part shrinks.
  size_t crossing(int part, size_t end, double head) const {
    const std::vector<double>& others = least_[static_cast<size_t>(part) - 1];
    size_t low = static_cast<size_t>(part), high = end - 1;
    while (low < high) {
      const size_t middle = (low + high) / 2;
      if (others[middle] >= before_[end] - before_[middle] + head)
        high = middle;
      else
        low = middle + 1;
    }
    const size_t below = std::max(static_cast<size_t>(part), low - 1);
    return load(others, below, end, head) < load(others, low, end, head) ? below : low;
  }

  std::vector<double> before_;              // work of the layers before each, and of all
  std::vector<std::vector<double>> least_;  // by part, by end: of the largest of parts 0 to it
};

}  // namespace

std::vector<Action> make_schedule(ScheduleKind kind, int stage, int stages, int micro_batches,
                                  int chunks) {
  if (kind == ScheduleKind::gpipe) return all_forward_then_backward(micro_batches, chunks);
  const int total = micro_batches * chunks;
  const int64_t warm_up = std::min<int64_t>(warm_up_of(stage, stages, chunks), total);
  return warm_up_then_pairs(static_cast<int>(warm_up), total, stages, chunks);
}

double most_in_flight(ScheduleKind kind, int stage, int stages, int64_t micro_batches, int chunks) {
  const int64_t total = micro_batches * chunks,
                most = kind == ScheduleKind::gpipe
                           ? total
                           : std::min(total, warm_up_of(stage, stages, chunks) + 1);
  return static_cast<double>(most) / chunks;
}

void check_schedule_fits(ScheduleKind kind, int stages, int micro_batches, int chunks) {
  const int most = std::numeric_limits<int>::max() / stages;
  require(chunks >= 1 && chunks <= most,
          "parallel.chunks is {}; it must be 1 to {} with parallel.pipeline={}", chunks, most,
          stages);
  require(chunks == 1 || kind == ScheduleKind::interleaved,
          "parallel.chunks={} needs parallel.schedule=interleaved", chunks);
  require(kind != ScheduleKind::interleaved || stages == 1 || micro_batches % stages == 0,
          "the interleaved schedule needs the number of micro-batches, {}, to be a multiple of "
          "parallel.pipeline={}; change train.global_batch or train.micro_batch",
          micro_batches, stages);
}

std::vector<int> split_layers(const std::vector<double>& work, int parts,
                              const std::vector<int64_t>& given, double head) {
  const auto layers = static_cast<int>(work.size());
  require(layers >= parts,
          "model.n_layers={} is fewer than the {} pipeline pieces (stages times chunks); use fewer "
          "stages or more layers",
          layers, parts);
  if (!given.empty()) {
    require(static_cast<int>(given.size()) == parts,
            "parallel.layers names {} pieces, but there are {}", given.size(), parts);
    for (const int64_t blocks : given)
      require(blocks >= 0 && blocks <= layers,
              "parallel.layers gives a piece {} blocks; it must be 0 to model.n_layers={}", blocks,
              layers);
    const int64_t sum = std::accumulate(given.begin(), given.end(), int64_t{0});
    require(sum == layers, "parallel.layers sums to {}, but model.n_layers is {}", sum, layers);
    return {given.begin(), given.end()};
  }
  const EvenSplit split(work, parts);
  std::vector<int> made(static_cast<size_t>(parts));
  size_t end = work.size();
  for (int part = parts - 1; part > 0; --part, head = 0) {
    const size_t begin = split.last_begins(part, end, head);
    made[static_cast<size_t>(part)] = static_cast<int>(end - begin);
    end = begin;
  }
  made[0] = static_cast<int>(end);
  return made;
}

}  // namespace skein
