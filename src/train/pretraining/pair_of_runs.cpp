#include "skein/train/pretraining/pair_of_runs.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/inspect.h"
#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/train/run_state.h"

namespace skein::train {
namespace {

PretrainConfig at(const OtherLayout& other, PretrainConfig run, int all) {
  ParallelConfig& p = run.parallel;
  const bool fewer = other.ranks > 0 && other.ranks < all;
  const auto settle = [fewer](int& value, int wanted) {
    if (wanted > 0 || fewer) value = std::max(1, wanted);
  };
  settle(p.pipeline, other.pipeline);
  settle(p.tensor, other.tensor);
  settle(p.chunks, other.chunks);
  p.data = 0;
  p.layers = {};
  p.sequence = p.sequence && p.tensor > 1;
  if (other.micro_batch > 0) run.train.micro_batch = other.micro_batch;
  return run;
}

// "": there is none.
std::string checkpoint_of(const std::string& folder, int64_t step) {
  for (const auto& info : checkpoint::list_checkpoints(folder))
    if (info.step == step) return info.path;
  return "";
}

}  // namespace

void bind(Options& options, OtherLayout& other) {
  options.add("other.ranks", other.ranks, "of the second run; 0: all", "ranks");
  options.add("other.pipeline", other.pipeline,
              "its parallel.pipeline; 0: as the first, 1 where it has fewer ranks", "ranks");
  options.add("other.tensor", other.tensor, "its parallel.tensor; 0: the same", "ranks");
  options.add("other.chunks", other.chunks, "its parallel.chunks; 0: the same");
  options.add("other.micro_batch", other.micro_batch, "its train.micro_batch; 0: as the first",
              "sequences");
}

bool ends_alike(const TrainResult& whole, const TrainResult& resumed) {
  const auto ends_with = [at = resumed.begun - whole.begun](const auto& all, const auto& end) {
    return at >= 0 && at <= std::ssize(all) &&
           std::equal(all.begin() + at, all.end(), end.begin(), end.end());
  };
  return ends_with(whole.losses, resumed.losses) && ends_with(whole.grad_norms, resumed.grad_norms);
}

PairOfRuns::PairOfRuns(const Options& options, const PretrainTaskConfig& config,
                       const OtherLayout& other, Group& world)
    : options_(options), config_(config), other_(other), world_(world) {
  const std::string& dir = config_.run.run.dir;
  checkpoint::agree(world_, [&] {
    std::error_code ignored;
    require(!dir.empty(), "run.dir is empty; name a folder for both runs");
    require(world_.rank() > 0 || !std::filesystem::exists(dir, ignored),
            "run.dir={} is there already; both runs must begin in a new folder", dir);
  });
  require(other_.ranks >= 0 && other_.ranks <= world_.size(),
          "other.ranks={} must be 0 to {}, the ranks of this job", other_.ranks, world_.size());
  require(
      other_.pipeline >= 0 && other_.tensor >= 0 && other_.chunks >= 0 && other_.micro_batch >= 0,
      "other.pipeline={}, other.tensor={}, other.chunks={} and other.micro_batch={} must not be "
      "negative; 0 leaves what the first run has",
      other_.pipeline, other_.tensor, other_.chunks, other_.micro_batch);
}

TrainResult PairOfRuns::train(const std::string& name, int64_t stop_at) const {
  PretrainTaskConfig config = config_;
  config.run.run.dir = folder(name);
  config.run.run.stop_at = stop_at;
  return train(config, world_.size());
}

TrainResult PairOfRuns::train_second(const std::string& name, const std::string& first) const {
  PretrainTaskConfig config = config_;
  config.run = at(other_, config.run, world_.size());
  config.run.run.dir = folder(name);
  const int ranks = other_.ranks > 0 ? other_.ranks : world_.size();
  ParallelConfig& p = config.run.parallel;
  if (const int64_t of_first = groups(first); p.reduction_groups == 0 && of_first > 0) {
    const int64_t data = mesh_shape(p, ranks).dp;
    require(of_first % data == 0,
            "the {} reduction groups of {} do not fit the {} data-parallel ranks of the second "
            "run, so that it would sum gradients in another order; give parallel.reduction_groups, "
            "a multiple of the data-parallel ranks of both",
            of_first, folder(first), data);
    p.reduction_groups = of_first;
  }
  return train(config, ranks);
}

TrainResult PairOfRuns::train(PretrainTaskConfig& config, int ranks) const {
  const bool takes_part = world_.rank() < ranks;
  const auto group = world_.split(takes_part ? 0 : 1, world_.rank());
  TrainResult result;
  if (takes_part) {
    const auto task = pretraining_task(options_, config);
    result = train::train(config.run, *task, *group, options_.resolved());
  }
  const int64_t stop_at = config.run.run.stop_at;
  if (world_.any(result.stopped && result.step != stop_at))
    fail("asked to stop; nothing is compared");
  return result;
}

// Of the run's sums; 0 where it has no checkpoint.
int64_t PairOfRuns::groups(const std::string& name) const {
  return std::stoll(checkpoint::from_root(world_, [&] {
    const auto all = checkpoint::list_checkpoints(folder(name));
    return std::to_string(
        all.empty() ? 0 : run_state(all.front().metadata, all.front().path).reduction_groups);
  }));
}

Compared PairOfRuns::compare(int64_t step, const std::string& first,
                             const std::string& second) const {
  const auto answer = checkpoint::from_root(world_, [&]() -> std::string {
    const std::string one = checkpoint_of(folder(first), step),
                      other = checkpoint_of(folder(second), step);
    if (one.empty() && other.empty()) return "neither";
    if (one.empty() || other.empty()) {
      log::info("step {}: {} has a checkpoint and {} has none: only one of them learnt from it",
                step, folder(one.empty() ? second : first), folder(one.empty() ? first : second));
      return "different";
    }
    std::ostringstream text;
    const int code = checkpoint::inspect({"diff", one, other}, text);
    log::info("step {}: {}", step, text.str());
    return code == 0 ? "equal" : "different";
  });
  return answer == "equal"     ? Compared::equal
         : answer == "neither" ? Compared::neither
                               : Compared::different;
}

}  // namespace skein::train
