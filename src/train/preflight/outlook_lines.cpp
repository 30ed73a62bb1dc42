#include "skein/train/preflight/outlook_lines.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <unistd.h>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/comm/flight_recorder.h"
#include "skein/core/clock.h"
#include "skein/core/files/files.h"
#include "skein/core/host.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"
#include "skein/kernels/matmul.h"
#include "skein/models/architecture.h"
#include "skein/tensor/cuda.h"
#include "skein/train/run_folder.h"

namespace skein::train {
namespace {

constexpr double kTimed = 0.3;  // seconds of products
// Larger products are no faster, and their operands may not fit where the model does not.
constexpr int64_t kWidest = 2048, kMostHidden = 8192;

double own_rate(const PretrainConfig& config) {
  const Device device = device_of(config.parallel.device);
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

std::string room_line(Device device) {
  if (device.kind == DeviceKind::cuda) {
    const cuda::Memory memory = cuda::memory(device.index);
    return fmt::format("          {} of the {} of this GPU are free\n",
                       readable_size(memory.free + memory.idle), readable_size(memory.total));
  }
  return fmt::format("          {} are available on {}; the program itself takes some 50 MiB\n",
                     readable_size(host_limits().available), host_name());
}

// Where a run's folder is, or would be made.
std::string writable_above(const std::string& folder) {
  return with_origin("run.dir=" + folder, [&] {
    std::string there = existing_directory(folder);
    if (::access(there.c_str(), W_OK) != 0) fail_system(errno, "cannot write to {}", there);
    return there;
  });
}

std::string memory_text(const RankMemory& memory) {
  std::string text = fmt::format("{} = values {} + gradients {}", readable_size(memory.total()),
                                 readable_size(memory.values), readable_size(memory.gradients));
  if (memory.waiting > 0) text += " + sums of groups " + readable_size(memory.waiting);
  text += " + optimizer " + readable_size(memory.optimizer);
  if (memory.others > 0) text += " + other models " + readable_size(memory.others);
  text += fmt::format(" + packed weights {} + activations {} + work space {}",
                      readable_size(memory.packed), readable_size(memory.activations),
                      readable_size(memory.work));
  const std::string snapshot = readable_size(memory.snapshot);
  switch (memory.place) {
    case Snapshot::none: return text;
    case Snapshot::waited_for:
      return text + fmt::format(", or in place of these two a snapshot of {}", snapshot);
    case Snapshot::beside: return text + " + snapshot " + snapshot;
    case Snapshot::on_host: return text + "; of the host's memory a snapshot of " + snapshot;
  }
  return text;
}

// Of ranks first to last - 1, which say this.
std::string name_of_ranks(const std::vector<std::string>& texts, size_t first, size_t last) {
  if (texts.size() == 1) return "";
  if (last == first + 1) return fmt::format("rank {}: ", first);
  const std::set<std::string> said(&texts[first], &texts[first] + (last - first));
  return said.size() == 1 ? fmt::format("each of ranks {} to {}: ", first, last - 1)
                          : fmt::format("ranks {} to {}, the fullest: ", first, last - 1);
}

}  // namespace

double measured_rate(const PretrainConfig& config, Group& world) {
  return world.sum(own_rate(config));
}

std::string model_text(const ModelConfig& model, const PretrainConfig& config) {
  return fmt::format(
      "{}, {} blocks of width {}, {} parameters, {} by {}", model.architecture->name(),
      model.n_layers, model.d_model, readable_count(static_cast<double>(model.parameters())),
      name_of(config.precision()), unit_of(device_of(config.parallel.device), config.precision()));
}

std::string layout_line(const MeshShape& sizes, const BatchPlan& plan) {
  return fmt::format(
      "layout    pipeline {} x data {} x tensor {}, {} micro-batches of {} a rank, gradients of {} "
      "groups\n",
      sizes.pp, sizes.dp, sizes.tp, plan.micro_batches(), plan.micro_batch, plan.groups);
}

std::string memory_lines(const RankMemory& own, const PretrainConfig& config, Group& world) {
  constexpr double kAlike = 0.01;
  const std::vector<double> totals = world.all_gather(own.total());
  const std::vector<std::string> texts = world.all_gather(memory_text(own));
  std::string text;
  for (size_t first = 0, last = 0; first < totals.size(); first = last) {
    size_t fullest = first;
    while (++last < totals.size() &&
           std::abs(totals[last] - totals[first]) < kAlike * totals[first])
      if (totals[last] > totals[fullest]) fullest = last;
    text += fmt::format("{:9} {}{}\n", text.empty() ? "memory" : "",
                        name_of_ranks(texts, first, last), texts[fullest]);
  }
  return text + room_line(device_of(config.parallel.device));
}

std::string disk_line(const PretrainConfig& config, double checkpoint) {
  if (config.run.dir.empty()) return "disk      nothing is written (run.dir is empty)\n";
  const std::string there = writable_above(config.run.dir);
  const int64_t left = free_space(there);
  const double most = checkpoint * (1 + static_cast<double>(config.checkpoint.keep)),
               held = checkpoint *
                      static_cast<double>(checkpoint::list_checkpoints(
                                              RunFolder(config.run.dir, false).checkpoints())
                                              .size());
  if (static_cast<double>(left) < std::max(checkpoint, most - held))
    log::warn(
        "run.dir={}: {} are free in {}, and checkpoints take up to {} there; free some, give "
        "another folder, or a smaller checkpoint.keep than {}",
        config.run.dir, readable_size(left), there, readable_size(most), config.checkpoint.keep);
  return fmt::format(
      "disk      {} a checkpoint, {} at most while one is written; {} are free in {}\n",
      readable_size(checkpoint), readable_size(most), readable_size(left), there);
}

std::string time_line(double seconds, const std::string& step, int64_t left, double rate,
                      int ranks) {
  return fmt::format(
      "time      at least {:.3g} s {} and {} in all: {}FLOP/s, which products like this model's "
      "reach on {} here now; attention, exchanges and validation come on top\n",
      seconds, step, readable_seconds(seconds * static_cast<double>(left)),
      readable_count(rate, " "), ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks));
}

}  // namespace skein::train
