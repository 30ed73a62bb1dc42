#include "skein/bench/bench.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "skein/checkpoint/agree.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/scaling/report/gnuplot.h"

#include "command.h"

namespace skein::cli {

int bench_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainConfig run;
  bench::BenchConfig config;
  Options options("skein bench",
                  "Measures the parts of training and decoding a model on this machine.");
  bind(options, config);
  bind(options, run);
  if (!parse_run(options, args, run)) return 0;
  require(config.plots.empty() || std::ranges::count(config.what, "coordinates") > 0,
          "bench.plots={} is for plots of coordinates; name them in bench.what={}", config.plots,
          fmt::join(config.what, ","));
  if (!config.trace.empty()) file_target(config.trace, ExistingFile::replace, "bench.trace");
  world = begin_world();
  // Made now, lest a long measurement ends before a file that cannot be.
  std::unique_ptr<ResultFile> file;
  if (!config.output.empty())
    checkpoint::agree(*world, [&] {
      if (world->rank() == 0) file = std::make_unique<ResultFile>("bench.output", config.output);
    });
  const auto figures = bench::bench(run, config, *world);
  if (!config.plots.empty() && world->rank() == 0) {
    const std::vector<scaling::study::CoordinateCheck> checks =
        scaling::study::coordinate_checks_of(bench::bench_json(figures, run), "bench.what");
    for (const std::string& path :
         write_figure(scaling::report::coordinate_figure(checks), config.plots))
      log::info("plot in {}", path);
  }
  if (file) {
    file->write(bench::bench_json(figures, run));
    file->finish();
    log::info("figures in {}", config.output);
  }
  return 0;
}

}  // namespace skein::cli
