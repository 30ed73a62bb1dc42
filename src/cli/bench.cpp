#include "skein/bench/bench.h"

#include <algorithm>
#include <fmt/ranges.h>

#include "skein/bench/layers.h"
#include "skein/bench/structures.h"
#include "skein/checkpoint/agree.h"
#include "skein/core/files/result_file.h"
#include "skein/core/log.h"
#include "skein/plot/gnuplot.h"
#include "skein/scaling/report/report.h"

#include "command.h"

namespace skein::cli {

namespace {

std::vector<scaling::study::CoordinateCheck> checks_of(const std::vector<bench::Figure>& figures,
                                                       const train::PretrainConfig& run) {
  return scaling::study::coordinate_checks_of(bench::bench_json(figures, run), "bench.what");
}

// Milliseconds over tokens.
plot::Figure layer_figure(const std::vector<bench::LayerTimes>& times, const ModelConfig& model) {
  using namespace plot;
  Figure made{.name = "attention-lengths", .title = "Self-attention with its projections"};
  Panel panel{
      .title = fmt::format("self-attention, kind {}, {} heads, width {}",
                           fmt::join(model.attention.kinds, ","), model.n_heads, model.d_model),
      .x = {.label = "tokens", .logarithmic = true},
      .y = {.label = "milliseconds", .logarithmic = true}};
  for (const bench::LayerTimes& one : times) {
    Series series{.title = one.way, .ink = size_ink(std::ssize(panel.series), std::ssize(times))};
    for (const auto& [length, seconds] : one.seconds)
      series.samples.push_back({.x = static_cast<double>(length), .y = seconds * 1e3});
    panel.series.push_back(std::move(series));
  }
  made.panels.push_back(std::move(panel));
  return made;
}

}  // namespace

int bench_command(const std::vector<std::string>& args, std::unique_ptr<Group>& world) {
  train::PretrainConfig run;
  bench::BenchConfig config;
  Options options("skein bench",
                  "Measures the parts of training and decoding a model on this machine.");
  bind(options, config);
  bind(options, run);
  if (!parse_run(options, args, run)) return 0;
  bench::take_structures(config, run.model);
  const auto measures = [&](const char* what) { return std::ranges::count(config.what, what) > 0; };
  require(config.plots.empty() || measures("coordinates") || measures("attention"),
          "bench.plots={} is for pictures of coordinates and of attention; name one of them in "
          "bench.what={}",
          config.plots, fmt::join(config.what, ","));
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
    std::vector<std::string> plots;
    if (measures("attention"))
      plots =
          bench::write_structures(config.structures, run.model.context, config.reach, config.plots);
    if (std::ranges::count(config.structures, bench::kModelStructure) && config.lengths.size() > 1)
      for (std::string& path : plot::write_figure(
               layer_figure(bench::layer_times(figures, config, run.model), run.model),
               "bench.plots", config.plots))
        plots.push_back(std::move(path));
    if (measures("coordinates"))
      for (std::string& path :
           plot::write_figure(scaling::report::coordinate_figure(checks_of(figures, run)),
                              "bench.plots", config.plots))
        plots.push_back(std::move(path));
    for (const std::string& path : plots) log::info("plot in {}", path);
  }
  if (file) {
    file->write(bench::bench_json(figures, run));
    file->finish();
    log::info("figures in {}", config.output);
  }
  return 0;
}

}  // namespace skein::cli
