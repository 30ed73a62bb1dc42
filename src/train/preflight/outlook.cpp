#include "skein/train/preflight/outlook.h"

#include <algorithm>
#include <fmt/format.h>

#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/models/description.h"
#include "skein/models/flops.h"
#include "skein/parallel/rank_memory.h"
#include "skein/train/preflight/outlook_lines.h"
#include "skein/train/replica.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_weights.h"
#include "skein/train/start.h"

namespace skein::train {
namespace {

class Foresight {
 public:
  Foresight(const PretrainConfig& given, Task& task, Group& world,
            const std::optional<checkpoint::CheckpointInfo>& start)
      : config_(checked_start(given, task.length(), task.validates(), world.size())),
        task_(task),
        mesh_(world, mesh_shape(config_.parallel, world.size())),
        device_(device_of(config_.parallel.device)) {
    settle_start(start ? start : find_start(world));
    model_ = std::make_unique<LocalModel>(config_.model, config_.parallel, mesh_,
                                          config_.precision(), config_.train.frozen_layers);
    shape_ = learning_shape(config_, plan_, mesh_, *model_);
    shape_.tokens = task.length();
  }

  Outlook found() {
    Group& world = mesh_.world();
    Outlook made;
    made.text = about_model() + about_steps() + about_memory() + about_disk() + about_time();
    made.lack = refusal_of([&] { require_memory(world, device_, config_.model, shape_); });
    return made;
  }

 private:
  // As the trainer goes by it: where the run begins, and with which groups.
  void settle_start(const std::optional<checkpoint::CheckpointInfo>& from) {
    std::optional<StoredStart> stored;
    const RunFolder folder(config_.run.dir, false);
    if (from) stored = stored_start(*from, folder.holds(*from), config_, task_);
    const bool goes_on = stored && stored->goes_on();
    if (goes_on) first_ = stored->state.step;
    if (stored)
      origin_ = fmt::format("{} {}", goes_on ? "goes on from" : "begins from", stored->path);
    plan_ = settled_plan(config_, mesh_.shape(),
                         stored && stored->keeps_groups ? &stored->state : nullptr,
                         stored ? stored->path : "");
    if (!stored || stored->adapts) return;
    tell_changes(compare_with_start(*stored, config_, task_));
  }

  std::optional<checkpoint::CheckpointInfo> find_start(Group& world) const {
    if (!config_.run.dir.empty())
      if (auto own = find_own_checkpoint(config_.run, world)) return own;
    return find_load(config_.checkpoint.load, task_.adapts() || config_.checkpoint.weights_only,
                     world);
  }

  std::string about_model() const {
    return fmt::format("model     {}\n", model_text(config_.model, config_));
  }

  double tokens_per_step() const {
    return static_cast<double>(config_.train.global_batch * task_.length());
  }
  double flops_per_step() const {
    return tokens_per_step() * model_flops_per_token(config_.model, task_.length(),
                                                     AttentionCount::half,
                                                     config_.train.frozen_layers);
  }
  int64_t steps_left() const { return std::max<int64_t>(0, config_.train.steps - first_); }

  std::string about_steps() const {
    const double samples = static_cast<double>(config_.train.steps * config_.train.global_batch),
                 epoch = static_cast<double>(task_.samples().samples_per_epoch());
    std::string text = origin_.empty() ? "" : fmt::format("start     it {}\n", origin_);
    text += fmt::format(
        "steps     {} to {}, of {} samples of {} tokens: {} tokens in all, {:.3g} "
        "passes over {:.0f} samples\n",
        first_, config_.train.steps, config_.train.global_batch, task_.length(),
        readable_count(tokens_per_step() * static_cast<double>(config_.train.steps)),
        samples / epoch, epoch);
    text += layout_line(mesh_.shape(), plan_);
    return text + fmt::format("work      {:.4g} FLOPs a token, {:.4g} a step, {:.4g} in all\n",
                              flops_per_step() / tokens_per_step(), flops_per_step(),
                              flops_per_step() * static_cast<double>(steps_left()));
  }

  std::string about_memory() {
    return memory_lines(estimated_memory(shape_, model_->parameters()), config_, mesh_.world());
  }

  std::string about_disk() const {
    const int64_t values = config_.precision() == DType::f32 ? 4 : 0,
                  all = config_.model.parameters(),
                  frozen = frozen_numbers(config_.model, config_.train.frozen_layers);
    return disk_line(
        config_,
        static_cast<double>(all - frozen) * static_cast<double>(values + shape_.optimizer_bytes) +
            static_cast<double>(frozen) * static_cast<double>(values + shape_.frozen_bytes));
  }

  std::string about_time() {
    const double rate = measured_rate(config_, mesh_.world());
    return time_line(flops_per_step() / rate, "a step", steps_left(), rate, mesh_.world().size());
  }

  PretrainConfig config_;
  Task& task_;
  Mesh mesh_;
  Device device_;
  int64_t first_ = 0;
  std::string origin_;
  BatchPlan plan_;
  std::unique_ptr<LocalModel> model_;
  MemoryShape shape_;
};

}  // namespace

Outlook look_ahead(const PretrainConfig& config, Task& task, Group& world,
                   const std::optional<checkpoint::CheckpointInfo>& start) {
  return Foresight(config, task, world, start).found();
}

}  // namespace skein::train
