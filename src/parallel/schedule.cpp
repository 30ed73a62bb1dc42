#include "skein/parallel/schedule.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "skein/core/error.h"

namespace skein {
namespace {

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

// The blocks of the last part for which the largest part is smallest; of equals the one nearest to
// an even share.
int blocks_beside_head(int layers, int parts, double head) {
  if (parts == 1) return layers;
  int best = 1;
  double best_load = std::numeric_limits<double>::infinity();
  for (int last = 1; last <= layers - (parts - 1); ++last) {
    const int others = (layers - last + parts - 2) / (parts - 1);
    const double load = std::max<double>(others, last + head);
    if (load < best_load || (load == best_load && last <= layers / parts)) {
      best = last;
      best_load = load;
    }
  }
  return best;
}

}  // namespace

std::vector<Action> make_schedule(ScheduleKind kind, int stage, int stages, int micro_batches,
                                  int chunks) {
  if (kind == ScheduleKind::gpipe) return all_forward_then_backward(micro_batches, chunks);
  const int total = micro_batches * chunks, behind = stages - stage - 1;
  const int warm_up = chunks == 1 ? behind : 2 * behind + (chunks - 1) * stages;
  return warm_up_then_pairs(std::min(warm_up, total), total, stages, chunks);
}

int64_t most_in_flight(ScheduleKind kind, int stage, int stages, int64_t micro_batches) {
  if (kind == ScheduleKind::gpipe) return micro_batches;
  return std::min<int64_t>(micro_batches, stages - stage);
}

void check_schedule_fits(ScheduleKind kind, int stages, int micro_batches, int chunks) {
  require(chunks >= 1, "parallel.chunks is {}; it must be at least 1", chunks);
  require(chunks == 1 || kind == ScheduleKind::interleaved,
          "parallel.chunks={} needs parallel.schedule=interleaved", chunks);
  require(kind != ScheduleKind::interleaved || stages == 1 || micro_batches % stages == 0,
          "the interleaved schedule needs the number of micro-batches, {}, to be a multiple of "
          "parallel.pipeline={}; change train.global_batch or train.micro_batch",
          micro_batches, stages);
}

std::vector<int> split_layers(int layers, int parts, const std::vector<int64_t>& given,
                              double head) {
  require(layers >= parts,
          "model.n_layers={} is fewer than the {} pipeline pieces (stages times chunks); use fewer "
          "stages or more layers",
          layers, parts);
  if (!given.empty()) {
    const int64_t sum = std::accumulate(given.begin(), given.end(), int64_t{0});
    require(static_cast<int>(given.size()) == parts,
            "parallel.layers names {} pieces, but there are {}", given.size(), parts);
    require(sum == layers && *std::min_element(given.begin(), given.end()) >= 0,
            "parallel.layers sums to {}, but model.n_layers is {}", sum, layers);
    return {given.begin(), given.end()};
  }
  const int last = blocks_beside_head(layers, parts, head), rest = layers - last;
  std::vector<int> split(static_cast<size_t>(parts), last);
  for (int i = 0; i + 1 < parts; ++i)
    split[i] = rest / (parts - 1) + (i < rest % (parts - 1) ? 1 : 0);
  return split;
}

}  // namespace skein
