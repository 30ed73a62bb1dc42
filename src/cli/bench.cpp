#include "command.h"
#include "skein/bench/bench.h"
#include "skein/checkpoint/files.h"
#include "skein/core/log.h"

namespace skein {

int bench_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  PretrainConfig run;
  BenchConfig config;
  Options options("skein bench", "Measures the parts of training and decoding a model on this machine.");
  bind(options, config);
  bind(options, run);
  if (!parse(options, args, false, [&] { settle_precision(options, "train.precision", run.train.precision, run.parallel.device); })) return 0;
  world = begin_world();
  const auto figures = bench(run, config, *world);
  if (!config.output.empty() && world->rank() == 0) {
    replace_file(config.output, bench_json(figures, run));
    log::info("figures in {}", config.output);
  }
  return 0;
}

}  // namespace skein
