#include "command.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "skein/comm/world.h"
#include "skein/core/log.h"
#include "skein/kernels/threads.h"

namespace skein::cli {
namespace {

// Told before ranks meet and data is read.
void require_device(const Options& options) {
  for (const auto& [key, value] : options.values())
    if (key == "parallel.device" && value == "cuda") require_kernels(DeviceKind::cuda);
}

}  // namespace

bool parse(Options& options, const std::vector<std::string>& args, bool allow_words,
           const std::function<void()>& settle) {
  log::set_rank(detect_launch().rank);  // so that a job says its lines once
  const Options::Outcome outcome = options.parse(args, allow_words);
  if (settle && outcome != Options::Outcome::help) settle();
  switch (outcome) {
    case Options::Outcome::run: require_device(options); return true;
    case Options::Outcome::help: answer(options.help()); return false;
    case Options::Outcome::print_config: answer(options.resolved()); return false;
  }
  return false;
}

bool parse_run(Options& options, const std::vector<std::string>& args,
               const train::PretrainConfig& c, const std::function<void()>& settle) {
  return parse(options, args, false, [&] {
    settle_precision(options, "train.precision", c.train.precision, c.parallel.device);
    if (settle) settle();
  });
}

void answer(const std::string& text) {
  std::signal(SIGPIPE, SIG_DFL);
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

void fit_micro_batch(Options& options, const ParallelConfig& layout, int64_t global_batch,
                     int64_t micro_batch, const Group& world) {
  const int64_t fitting =
      fitting_micro_batch(layout, mesh_shape(layout, world.size()), global_batch, micro_batch);
  if (fitting != micro_batch)
    options.set("train.micro_batch", std::to_string(fitting),
                fmt::format("divides train.global_batch={}", global_batch));
}

std::unique_ptr<Group> begin_world() {
  std::unique_ptr<Group> world = start_world();
  const int cores = cores_per_rank(*world);
  if (!std::getenv("OMP_NUM_THREADS")) kernels::set_threads(cores);
  return world;
}

}  // namespace skein::cli
