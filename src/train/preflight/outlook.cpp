#include "skein/train/preflight/outlook.h"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <vector>

#include "skein/comm/flight_recorder.h"
#include "skein/core/files/files.h"
#include "skein/core/host.h"
#include "skein/core/strings.h"
#include "skein/kernels/matmul.h"
#include "skein/models/architecture.h"
#include "skein/models/flops.h"
#include "skein/parallel/rank_memory.h"
#include "skein/tensor/cuda.h"
#include "skein/train/optim/optimizer.h"
#include "skein/train/run_folder.h"
#include "skein/train/run_state.h"
#include "skein/train/run_weights.h"

namespace skein::train {
namespace {

namespace fs = std::filesystem;

constexpr double kTimed = 0.3;  // seconds of products
// Larger products are no faster, and their operands may not fit where the model does not.
constexpr int64_t kWidest = 2048, kMostHidden = 8192;

std::string size_text(double bytes) { return readable_size(static_cast<int64_t>(bytes)); }

// FLOP/s of this rank, of products as those of the model's feed-forward layers.
double measured_rate(const PretrainConfig& config, Device device) {
  const int64_t rows = std::min(config.train.micro_batch * config.model.context, kWidest),
                width = std::min(config.model.d_model, kWidest),
                hidden = std::min(config.model.hidden(), kMostHidden);
  const DType dtype = config.precision();
  const auto ones = [&](int64_t n, int64_t m) {
    return Tensor::from(std::vector<float>(static_cast<size_t>(n * m), 1), {n, m})
        .to(dtype)
        .to(device);
  };
  const Tensor x = ones(rows, width), weight = ones(hidden, width),
               y = Tensor::empty({rows, hidden}, dtype, device);
  double begun = 0, seconds = 0;
  int64_t times = -1;  // the first warms up
  for (; seconds < kTimed; ++times) {
    if (times == 0) begun = steady_seconds();
    on_device(device,
              [&](auto on) { kernels::matmul(on, x, weight, {.transpose_b = true}, Out(y)); });
    if (device.kind == DeviceKind::cuda) cuda::synchronize(device.index);
    if (times >= 0) seconds = steady_seconds() - begun;
  }
  return 2.0 * static_cast<double>(rows * width * hidden * times) / seconds;
}

class Foresight {
 public:
  Foresight(const PretrainConfig& given, Task& task, Group& world,
            const std::optional<checkpoint::CheckpointInfo>& start)
      : config_(checked_start(given, task.length(), task.validates(), world.size())),
        task_(task),
        mesh_(world, mesh_shape(config_.parallel, world.size())),
        device_(device_of(config_.parallel.device)) {
    const auto from = start ? start : find_start(world);
    std::optional<RunState> stored;
    if (from) stored = run_state(from->metadata, from->path);
    settle_start(from ? &*from : nullptr, stored ? &*stored : nullptr);
    model_ = std::make_unique<LocalModel>(config_.model, config_.parallel, mesh_,
                                          config_.precision(), config_.train.frozen_layers);
    shape_ = memory_shape(config_.model, config_.parallel, plan_, mesh_, *model_);
    shape_.optimizer_bytes =
        make_optimizer(config_.optimizer)->bytes_per_parameter(config_.precision());
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
  void settle_start(const checkpoint::CheckpointInfo* from, const RunState* stored) {
    const bool own = from && !config_.run.dir.empty() &&
                     from->path.starts_with(config_.run.dir + "/checkpoints/");
    // An import has summed nothing yet.
    const bool trained = stored && (stored->imported.empty() || stored->optimizer_steps > 0);
    const bool groups = trained && (own || !task_.adapts()),
               steps = groups && (own || !config_.checkpoint.weights_only);
    if (steps) first_ = stored->step;
    if (from) origin_ = fmt::format("{} {}", steps ? "goes on from" : "begins from", from->path);
    plan_ = settled_plan(config_, mesh_.shape(), groups ? stored : nullptr, from ? from->path : "");
  }

  std::optional<checkpoint::CheckpointInfo> find_start(Group& world) const {
    if (!config_.run.dir.empty())
      if (auto own = find_own_checkpoint(config_.run, world)) return own;
    return find_load(config_.checkpoint.load, task_.adapts() || config_.checkpoint.weights_only,
                     world);
  }

  std::string about_model() const {
    const ModelConfig& model = config_.model;
    return fmt::format("model     {}, {} blocks of width {}, {} parameters, {} by {}\n",
                       model.architecture->name(), model.n_layers, model.d_model,
                       readable_count(static_cast<double>(model.parameters())),
                       name_of(config_.precision()), unit_of(device_, config_.precision()));
  }

  double tokens_per_step() const {
    return static_cast<double>(config_.train.global_batch * task_.length());
  }
  double flops_per_step() const {
    return tokens_per_step() * model_flops_per_token(config_.model, task_.length());
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
    const MeshShape& sizes = mesh_.shape();
    text += fmt::format(
        "layout    pipeline {} x data {} x tensor {}, {} micro-batches of {} a "
        "rank, gradients of {} groups\n",
        sizes.pp, sizes.dp, sizes.tp, plan_.micro_batches(), plan_.micro_batch, plan_.groups);
    return text + fmt::format("work      {:.4g} FLOPs a token, {:.4g} a step, {:.4g} in all\n",
                              flops_per_step() / tokens_per_step(), flops_per_step(),
                              flops_per_step() * static_cast<double>(steps_left()));
  }

  // A line for each kind of rank.
  std::string about_memory() {
    const RankMemory own = estimated_memory(shape_, model_->parameters());
    std::string line = fmt::format("{} = values {} + gradients {}", size_text(own.total()),
                                   size_text(own.values), size_text(own.gradients));
    if (own.waiting > 0) line += " + sums of groups " + size_text(own.waiting);
    line += fmt::format(" + optimizer {} + packed weights {} + activations {} + work space {}",
                        size_text(own.optimizer), size_text(own.packed), size_text(own.activations),
                        size_text(own.work));
    const std::vector<std::string> all = mesh_.world().all_gather(line);
    std::string text;
    for (size_t first = 0, last = 0; first < all.size(); first = last) {
      while (last < all.size() && all[last] == all[first]) ++last;
      text += fmt::format("{:9} {}{}\n", text.empty() ? "memory" : "",
                          all.size() == 1 ? ""
                          : last == first + 1
                              ? fmt::format("rank {}: ", first)
                              : fmt::format("each of ranks {} to {}: ", first, last - 1),
                          all[first]);
    }
    return text + about_room();
  }

  std::string about_room() const {
    if (device_.kind == DeviceKind::cuda) {
      const cuda::Memory memory = cuda::memory(device_.index);
      return fmt::format("          {} of the {} of this GPU are free\n",
                         readable_size(memory.free + memory.idle), readable_size(memory.total));
    }
    return fmt::format("          {} are available on {}; the program itself takes some 50 MiB\n",
                       readable_size(host_limits().available), host_name());
  }

  std::string about_disk() const {
    if (config_.run.dir.empty()) return "disk      nothing is written (run.dir is empty)\n";
    const int64_t values = config_.precision() == DType::f32 ? 4 : 0;
    const double one = static_cast<double>(config_.model.parameters()) *
                       static_cast<double>(values + shape_.optimizer_bytes);
    fs::path folder = config_.run.dir;
    while (!folder.empty() && !fs::exists(folder)) folder = folder.parent_path();
    const std::string there = folder.empty() ? "." : folder.string();
    return fmt::format(
        "disk      {} a checkpoint, {} at most while one is written; {} are free in "
        "{}\n",
        size_text(one), size_text(one * static_cast<double>(config_.checkpoint.keep + 1)),
        readable_size(free_space(there)), there);
  }

  std::string about_time() {
    const double rate = mesh_.world().sum(measured_rate(config_, device_)),
                 seconds = flops_per_step() / rate;
    return fmt::format(
        "time      at least {:.3g} s a step and {} in all: {}FLOP/s, which products like "
        "this model's reach on {} here now; attention, exchanges and validation come on top\n",
        seconds, readable_seconds(seconds * static_cast<double>(steps_left())),
        readable_count(rate, " "),
        mesh_.world().size() == 1 ? "one rank" : fmt::format("{} ranks", mesh_.world().size()));
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
