#include "skein/train/pretraining/pair_of_runs.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "skein/checkpoint/agree.h"
#include "skein/checkpoint/checkpoint.h"
#include "skein/checkpoint/inspect.h"
#include "skein/core/error.h"
#include "skein/core/log.h"

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
}

TrainResult PairOfRuns::train(const std::string& name, bool second, int64_t stop_at) const {
  PretrainTaskConfig config = config_;
  if (second) config.run = at(other_, config.run, world_.size());
  config.run.run.dir = folder(name);
  config.run.run.stop_at = stop_at;
  const int ranks = second && other_.ranks > 0 ? other_.ranks : world_.size();
  const bool takes_part = world_.rank() < ranks;
  const auto group = world_.split(takes_part ? 0 : 1, world_.rank());
  TrainResult result;
  if (takes_part) {
    const auto task = pretraining_task(options_, config);
    result = train::train(config.run, *task, *group, options_.resolved());
  }
  if (world_.any(result.stopped && result.step != stop_at))
    fail("asked to stop; nothing is compared");
  return result;
}

bool PairOfRuns::equal(int64_t step, const std::string& first, const std::string& second) const {
  const auto answer = checkpoint::from_root(world_, [&] {
    std::ostringstream text;
    const int code = checkpoint::inspect({"diff", path(first, step), path(second, step)}, text);
    log::info("step {}: {}", step, text.str());
    return code == 0 ? "equal" : "";
  });
  return !answer.empty();
}

std::string PairOfRuns::path(const std::string& name, int64_t step) const {
  for (const auto& info : checkpoint::list_checkpoints(folder(name)))
    if (info.step == step) return info.path;
  fail("{} has no checkpoint of step {}", folder(name), step);
}

}  // namespace skein::train
