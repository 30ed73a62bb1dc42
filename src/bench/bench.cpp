#include "skein/bench/bench.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "skein/bench/structures.h"
#include "skein/core/clock.h"
#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/core/philox.h"
#include "skein/core/version.h"
#include "skein/kernels/threads.h"
#include "skein/models/architecture.h"
#include "skein/tensor/cuda.h"

#include "parts.h"

namespace skein::bench {

void bind(Options& options, BenchConfig& c) {
  options.add(
      "bench.what", c.what,
      "parts to measure: gemm, attention, links, fused, collectives, step, decode, rollout, "
      "coordinates");
  options.add("bench.samples", c.samples,
              "measurements of each figure; the median counts. Of coordinates: seeds");
  options.add("bench.prompt", c.prompt, "length of the prompt before decoding", "tokens");
  options.add("bench.new_tokens", c.new_tokens,
              "tokens decoded after it; in a rollout most of them, and four times their mean",
              "tokens");
  options.add("bench.batches", c.batches, "prompts decoded together, once each");
  options.add("bench.attention", c.structures,
              fmt::format("who sees whom, of attention: {}; or model: the whole layer, as the "
                          "model has it; none: causal or full where the model's attention is, "
                          "else model",
                          fmt::join(structure_names(), ", ")));
  options.add("bench.lengths", c.lengths,
              "of the model's layer (bench.attention=model); none: model.context", "tokens");
  options.add("bench.reach", c.reach, "of a band, a document, a prefix and eight listed blocks",
              "tokens");
  options.add("bench.nodes", c.nodes, "of the graph whose links are measured");
  options.add("bench.links", c.links, "between nodes of it that are drawn");
  options.add("bench.peak_size", c.peak_size,
              "rows and columns of the product whose rate counts as a GPU's peak");
  options.add("bench.stream_mib", c.stream_mib,
              "size of the tensors that memory speed is measured with", "MiB");
  options.add("bench.widths", c.coordinates.widths,
              "coordinates: values of model.d_model to compare");
  options.add("bench.steps", c.coordinates.steps, "coordinates: steps that each width learns",
              "steps");
  options.add("bench.wider_heads", c.coordinates.wider_heads,
              "coordinates: the number of heads stays as the width grows; else the heads' width");
  options.add("bench.output", c.output, "JSON file for the figures");
  options.add("bench.plots", c.plots,
              "folder for pictures: of coordinates their plot, as PNG, SVG and CSV; of attention "
              "who sees whom, as SVG");
  options.add("bench.trace", c.trace, "file for a Chrome trace of one training step");
}

void take_structures(BenchConfig& config, const ModelConfig& model) {
  require(std::ranges::all_of(config.lengths, [](int64_t one) { return one > 0; }),
          "bench.lengths={} must be above 0", fmt::join(config.lengths, ","));
  if (config.structures.empty())
    config.structures.emplace_back(!model.attention.is_full()         ? kModelStructure
                                   : model.architecture->sees_ahead() ? "full"
                                                                      : "causal");
  require(config.lengths.empty() || std::ranges::count(config.structures, kModelStructure) > 0,
          "bench.lengths={} is for the model's layer, but bench.attention={} is measured at "
          "model.context={}; give bench.attention={}, or leave bench.lengths out",
          fmt::join(config.lengths, ","), fmt::join(config.structures, ","), model.context,
          kModelStructure);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double seconds_of(Device device, const std::function<void()>& work) {
  const double begin = steady_seconds();
  work();
  if (device.kind == DeviceKind::cuda) cuda::synchronize(device.index);
  return steady_seconds() - begin;
}

void add_timed(const Bench& bench, Figure figure, const std::function<double()>& peak,
               const std::function<void()>& work) {
  work();
  const double once = seconds_of(bench.device, work);
  const auto calls =
      static_cast<int64_t>(std::clamp(std::ceil(5e-3 / std::max(once, 1e-9)), 1.0, 10000.0));
  std::vector<double> seconds, peaks;
  const auto all_calls = [&] {
    for (int64_t call = 0; call < calls; ++call) work();
  };
  for (int64_t i = 0; i < bench.config.samples; ++i) {
    peaks.push_back(peak());
    seconds.push_back(seconds_of(bench.device, all_calls) / calls);
  }
  figure.seconds = median(seconds);
  figure.peak = median(peaks);
  bench.figures.add(std::move(figure));
}

Tensor random_values(const Shape& shape, DType dtype, uint64_t key, Device device) {
  const Tensor made = Tensor::empty(shape, DType::f32);
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<float>()[i] = uniform_open(philox(key, 0, i)[0]) - 0.5f;
  return made.to(dtype).to(device);
}

namespace {

std::string text_of(const Figure& figure) {
  if (figure.seconds == 0)
    return fmt::format("  {:<34} {:>10.3f} GB", figure.name, figure.bytes * 1e-9);
  std::string text = fmt::format("  {:<34} {:>10.3f} ms", figure.name, figure.seconds * 1e3);
  if (figure.flops > 0)
    text += fmt::format("  {:>8.1f} GFLOP/s", figure.rate() * 1e-9);
  else if (figure.bytes > 0)
    text += fmt::format("  {:>8.2f} GB/s   ", figure.rate() * 1e-9);
  if (figure.peak > 0)
    text += fmt::format("  {:>5.1f}% of {:.1f}", figure.share() * 100, figure.peak * 1e-9);
  if (figure.tokens > 0) text += fmt::format("  {:>9.1f} tokens/s", figure.tokens / figure.seconds);
  if (figure.part > 0) text += fmt::format("  {:>5.1f}% of the whole", figure.part * 100);
  return text;
}

struct BenchPart {
  std::string_view name;
  void (*measure)(const Bench& bench);
};

constexpr BenchPart kParts[] = {{"gemm", bench_products},
                                {"attention", bench_attention},
                                {"links", bench_links},
                                {"fused", bench_fused},
                                {"collectives", bench_collectives},
                                {"step", bench_step},
                                {"decode", bench_decode},
                                {"rollout", bench_rollout},
                                {"coordinates", bench_coordinates}};

}  // namespace

void Figures::title(const std::string& text) const {
  if (tells_) log::info("{}", text);
}

void Figures::add(Figure figure) {
  title(text_of(figure));
  all_.push_back(std::move(figure));
}

void add_breakdown(const std::vector<ProfileEvent>& events, Figures& figures, double peak) {
  double whole = 0;
  for (const ProfileShare& share : shares_of(events)) whole += share.seconds;
  for (const ProfileShare& share : shares_of(events))
    figures.add({"breakdown", fmt::format("{} ({})", share.name, share.count), share.seconds,
                 share.flops, share.flops > 0 ? 0 : share.bytes, share.flops > 0 ? peak : 0, 0,
                 share.seconds / whole});
}

std::vector<Figure> bench(train::PretrainConfig run, const BenchConfig& config, Group& world) {
  take_batches(run.model);
  require(config.peak_size > 0 && config.stream_mib > 0,
          "bench.peak_size={} and bench.stream_mib={} must be at least 1", config.peak_size,
          config.stream_mib);
  require(config.samples > 0 && config.new_tokens > 1 && config.prompt > 0,
          "bench.samples={} and bench.prompt={} must be above 0, bench.new_tokens={} above 1",
          config.samples, config.prompt, config.new_tokens);
  // Before anything is measured.
  for (const std::string& name : config.structures)
    if (name != kModelStructure) structure(name, 1, 1, config.reach);
  Figures figures(world.rank() == 0);
  const Device device = device_of(run.parallel.device);
  figures.title(fmt::format("{} rank(s) of {} thread(s); {} by {}", world.size(),
                            kernels::threads(), name_of(run.precision()),
                            unit_of(device, run.precision())));
  for (const std::string& what : config.what) {
    const auto part = std::ranges::find(kParts, what, &BenchPart::name);
    require(part != std::end(kParts),
            "bench.what has '{}'; it may name gemm, attention, links, fused, collectives, step, "
            "decode, "
            "rollout and coordinates",
            what);
    part->measure({run, config, world, device, figures});
  }
  return figures.all();
}

std::string bench_json(const std::vector<Figure>& figures, const train::PretrainConfig& run) {
  using Json = nlohmann::ordered_json;
  Json all = Json::array();
  for (const Figure& f : figures) {
    Json made{{"group", f.group}, {"name", f.name}};
    if (!f.json.empty()) made.update(Json::parse(f.json));
    if (f.seconds > 0) made["seconds"] = f.seconds;
    if (f.flops > 0) made["flops"] = f.flops;
    if (f.bytes > 0) made["bytes"] = f.bytes;
    if (f.peak > 0) made["peak"] = f.peak, made["share_of_peak"] = f.share();
    if (f.tokens > 0) made["tokens_per_second"] = f.tokens / f.seconds;
    if (f.part > 0) made["share_of_whole"] = f.part;
    all.push_back(std::move(made));
  }
  return Json{{"skein", std::string(kVersion)},
              {"revision", std::string(kRevision)},
              {"precision", std::string(name_of(run.precision()))},
              {"unit", unit_of(device_of(run.parallel.device), run.precision())},
              {"threads", kernels::threads()},
              {"model",
               {{"d_model", run.model.d_model},
                {"n_layers", run.model.n_layers},
                {"n_heads", run.model.n_heads},
                {"context", run.model.context},
                {"vocab_size", run.model.vocab_size}}},
              {"micro_batch", run.train.micro_batch},
              {"global_batch", run.train.global_batch},
              {"figures", std::move(all)}}
             .dump(1) +
         "\n";
}

}  // namespace skein::bench
