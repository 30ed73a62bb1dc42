#include "skein/bench/layers.h"

#include <algorithm>
#include <cmath>
#include <fmt/ranges.h>

#include "skein/comm/local.h"
#include "skein/core/error.h"
#include "skein/models/trunk.h"
#include "skein/nn/cost.h"

#include "parts.h"

namespace skein::bench {
namespace {

constexpr char kGroup[] = "layer";

// Self-attention of a block of the model with its projections, and what it reads.
class Layer {
 public:
  Layer(const Bench& bench, const ModelConfig& model, int64_t block)
      : parameters_(bench.run.precision(), 0, 1, bench.device),
        attention_(parameters_, spec_of(model, block)),
        batch_(placed(random_batch(bench.run.train.micro_batch, model, 1), bench.device)),
        alone_(single_rank()) {
    parameters_.allocate(true);
    parameters_.initialize(1);
    const Shape shape{batch_.size(), batch_.length(), model.d_model};
    x_ = random_values(shape, parameters_.dtype(), 2, bench.device);
    dy_ = random_values(shape, parameters_.dtype(), 3, bench.device);
    pass_.tp = alone_.get();
    pass_.batch = &batch_;
    for (const auto& [block, flops] : flops_per_token(parameters_, batch_.length()))
      flops_ += flops * static_cast<double>(batch_.tokens.size());
  }

  void forward() const {
    const NoGrad no_grad;
    attention_(Var(x_), {}, pass_);
  }
  void both() const { backward(attention_(Var::leaf(x_), {}, pass_), dy_); }
  // Of both.
  double flops() const { return flops_; }

 private:
  static AttentionSpec spec_of(const ModelConfig& model, int64_t block) {
    auto made = std::get<AttentionSpec>(block_spec(model, false, block).sublayers[0].branch);
    made.name = "attention";
    return made;
  }

  Parameters parameters_;
  Attention attention_;
  data::Batch batch_;
  std::unique_ptr<Group> alone_;
  Tensor x_, dy_;
  Pass pass_;
  double flops_ = 0;
};

std::string name_of(int64_t length, const std::string& way) {
  return fmt::format("{} tokens {}", length, way);
}

constexpr char kForward[] = "forward", kBoth[] = "forward and backward";

// Those that see otherwise than the ones before.
std::vector<int64_t> different_blocks(const ModelConfig& model) {
  std::vector<int64_t> made;
  const auto sight = [&](int64_t block) {
    SightSpec seen = model.attention.of_block(block, model.context);
    if (seen.kind == SightKind::full || seen.kind == SightKind::fixed) seen.window = 0;
    return seen;
  };
  for (int64_t block = 0; block < model.n_layers; ++block)
    if (std::ranges::find(made, sight(block), sight) == made.end()) made.push_back(block);
  return made;
}

// Of a block's figures, where there are those of several.
std::string way_in(int64_t block, size_t blocks, const char* way) {
  return blocks == 1 ? way : fmt::format("in block {} {}", block, way);
}

// Those to measure.
std::vector<int64_t> lengths_of(const BenchConfig& config, const ModelConfig& model) {
  return config.lengths.empty() ? std::vector<int64_t>{model.context} : config.lengths;
}

// The figure's seconds by length, where it was measured.
std::vector<std::pair<int64_t, double>> seconds_by_length(const std::vector<Figure>& figures,
                                                          const BenchConfig& config,
                                                          const std::string& way) {
  std::vector<std::pair<int64_t, double>> made;
  for (const int64_t length : config.lengths)
    for (const Figure& figure : figures)
      if (figure.group == kGroup && figure.name == name_of(length, way))
        made.emplace_back(length, figure.seconds);
  std::ranges::sort(made);
  return made;
}

// The exponent by which time grows with the length: of a line through all points by least squares.
double exponent_of(const std::vector<std::pair<int64_t, double>>& points) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto count = static_cast<double>(points.size());
  for (const auto& [length, seconds] : points) {
    const double u = std::log(static_cast<double>(length)), v = std::log(seconds);
    x += u, y += v, xx += u * u, xy += u * v;
  }
  return (count * xy - x * y) / (count * xx - x * x);
}

}  // namespace

void bench_layers(const Bench& bench) {
  Yardsticks yardsticks(bench.device, bench.config);
  const DType dtype = bench.run.precision();
  const auto peak = [&] { return yardsticks.products(dtype); };
  bench.figures.title(
      fmt::format("the model's self-attention with its projections, {} sequences, "
                  "attention.kind={}",
                  bench.run.train.micro_batch, fmt::join(bench.run.model.attention.kinds, ",")));
  const std::vector<int64_t> blocks = different_blocks(bench.run.model);
  for (const int64_t length : lengths_of(bench.config, bench.run.model)) {
    ModelConfig model = bench.run.model;
    model.context = length;
    check(model, 1, false);
    for (const int64_t block : blocks) {
      const Layer layer(bench, model, block);
      const auto add = [&](const char* way, double flops, const auto& work) {
        add_timed(bench,
                  {.group = kGroup,
                   .name = name_of(length, way_in(block, blocks.size(), way)),
                   .flops = flops},
                  peak, work);
      };
      add(kForward, layer.flops() / 3, [&] { layer.forward(); });
      add(kBoth, layer.flops(), [&] { layer.both(); });
    }
  }
  for (const int64_t block : blocks) {
    const std::string way = way_in(block, blocks.size(), kBoth);
    const auto points = seconds_by_length(bench.figures.all(), bench.config, way);
    if (points.size() > 1)
      bench.figures.title(
          fmt::format("{} grow with the length to the power of {:.2f}", way, exponent_of(points)));
  }
}

std::vector<LayerTimes> layer_times(const std::vector<Figure>& figures, const BenchConfig& config,
                                    const ModelConfig& model) {
  const std::vector<int64_t> blocks = different_blocks(model);
  std::vector<LayerTimes> made;
  for (const int64_t block : blocks)
    for (const char* each : {kForward, kBoth}) {
      const std::string way = way_in(block, blocks.size(), each);
      made.push_back({way, seconds_by_length(figures, config, way)});
    }
  return made;
}

}  // namespace skein::bench
