#include "skein/bench/coordinates.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "skein/models/architecture.h"
#include "skein/train/replica.h"

#include "parts.h"

namespace skein::bench {
namespace {

double mean_size(const Tensor& x, const Tensor& less = {}) {
  const Tensor values = x.to(Device{}).to(DType::f32),
               other = less.defined() ? less.to(Device{}).to(DType::f32) : Tensor();
  double sum = 0;
  for (int64_t i = 0; i < values.size(); ++i) {
    const double value = values.data<float>()[i],
                 taken = less.defined() ? other.data<float>()[i] : 0;
    sum += std::abs(value - taken);
  }
  return sum / values.size();
}

// A model in training, in pieces between which it can be looked at: the embedding, each block, the
// head.
class Probe {
 public:
  Probe(const ModelConfig& model, Parameters& trained, Group& alone)
      : parameters_(trained.dtype(), 0, 1, trained.device()), alone_(alone) {
    const auto blocks = static_cast<int>(model.n_layers);
    const auto add = [&](const ModelPiece& piece) {
      pieces_.push_back(model.architecture->piece(model, piece, false, parameters_));
    };
    add({0, 0, true, false, 0});
    for (int block = 0; block < blocks; ++block) add({block, block + 1, false, false, 0});
    add({blocks, blocks, false, true, 0});
    for (Parameter& parameter : parameters_.all())
      parameter.value = trained.find(parameter.tensor())->value;
  }

  std::vector<double> sizes(const data::Batch& batch) const {
    const NoGrad no_grad;
    Pass pass;
    pass.tp = &alone_;
    pass.batch = &batch;
    Var flow = pieces_.front()->forward({}, pass);
    std::vector<double> all{mean_size(flow.value())};
    for (size_t i = 1; i + 1 < pieces_.size(); ++i) {
      const Var next = pieces_[i]->forward(flow, pass);
      all.push_back(mean_size(next.value(), flow.value()));
      flow = next;
    }
    const Var output = pieces_.back()->forward(flow, pass);
    const Predictor& predictor = *pieces_.back()->predictor();
    const Tensor logits = predictor.logits(predictor.rows(output, pass).value());
    // Those of a vocabulary's padding are zeros.
    all.push_back(mean_size(logits) * logits.dim(1) / predictor.vocab_shard().valid);
    return all;
  }

 private:
  Parameters parameters_;
  Group& alone_;
  std::vector<std::unique_ptr<Model>> pieces_;
};

struct Course {
  std::vector<std::vector<double>> sizes;  // by step and layer
  double loss = 0;
};

Course course_of(const train::PretrainConfig& run, int64_t steps, Group& world) {
  check_recording(run, world.size());
  const MeshShape shape = mesh_shape(run.parallel, world.size());
  Mesh mesh(world, shape);
  const BatchPlan plan =
      plan_batch(run.parallel, shape, run.train.global_batch, run.train.micro_batch);
  train::Replica replica(run, plan, mesh);
  Parameters& parameters = replica.model().parameters();
  const data::Batch batch = random_batch(plan.samples_per_rank, run.model, 7 + run.train.seed),
                    seen = placed(batch, parameters.device());
  const Probe probe(run.model, parameters, world);
  Course made{{probe.sizes(seen)}};
  for (int64_t step = 0; step < steps; ++step) {
    made.loss = replica.step(batch, step, run.lr.lr).loss;
    made.sizes.push_back(probe.sizes(seen));
  }
  return made;
}

std::vector<std::string> layer_names(const ModelConfig& model) {
  std::vector<std::string> names{"embedding"};
  for (int64_t block = 0; block < model.n_layers; ++block)
    names.push_back(fmt::format("block.{}", block));
  names.emplace_back("logits");
  return names;
}

void check(const train::PretrainConfig& run, const CoordinateConfig& config, const Group& world) {
  require(world.size() == 1, "bench.what=coordinates runs on one rank, not {}", world.size());
  require(run.model.architecture->continues_text(run.model),
          "bench.what=coordinates looks at decoders that predict tokens; give "
          "model.architecture=gpt and model.head=vocabulary");
  require(config.widths.size() >= 2 &&
              std::ranges::is_sorted(config.widths, std::ranges::less_equal()) &&
              config.widths.front() > 0,
          "bench.widths={} must be two widths or more, each above the one before",
          fmt::join(config.widths, ","));
  require(config.steps > 0 && config.seeds > 0,
          "bench.steps={} and bench.samples={} must be at least 1", config.steps, config.seeds);
}

}  // namespace

ModelConfig widened(const ModelConfig& model, int64_t width, bool wider_heads) {
  ModelConfig made = model;
  const int64_t per_head = model.n_heads / model.kv_heads();
  made.d_model = width;
  if (wider_heads) {
    require(width % model.n_heads == 0,
            "bench.widths has {}, which does not divide by model.n_heads={}", width, model.n_heads);
    made.d_head = width / model.n_heads;
    if (model.mup_base_width && !model.mup_base_head)
      made.mup_base_head = std::max<int64_t>(1, model.mup_base_width / model.n_heads);
  } else {
    const int64_t group = model.head_width() * per_head;
    require(width % group == 0,
            "bench.widths has {}, which is no multiple of {}: heads of {} (model.d_model={} / "
            "model.n_heads={}), {} to a key head",
            width, group, model.head_width(), model.d_model, model.n_heads, per_head);
    made.d_head = model.head_width();
    made.n_heads = width / made.d_head;
    made.n_kv_heads = made.n_heads / per_head;
  }
  if (model.d_ff) made.d_ff = std::max<int64_t>(1, model.d_ff * width / model.d_model);
  return made;
}

Coordinates coordinates(const train::PretrainConfig& given, const CoordinateConfig& config,
                        Group& world) {
  check(given, config, world);
  Coordinates made{config.widths, layer_names(given.model), {}, {}};
  made.sizes.assign(made.layers.size(),
                    std::vector(config.steps + 1, std::vector<double>(config.widths.size(), 0.0)));
  for (size_t w = 0; w < config.widths.size(); ++w) {
    train::PretrainConfig run = given;
    run.model = widened(given.model, config.widths[w], config.wider_heads);
    if (run.parallel.reduction_groups == 0) run.parallel.reduction_groups = 1;
    double loss = 0;
    for (int64_t seed = 0; seed < config.seeds; ++seed) {
      run.train.seed = given.train.seed + seed;
      const Course course = course_of(run, config.steps, world);
      loss += course.loss / config.seeds;
      for (size_t step = 0; step < course.sizes.size(); ++step)
        for (size_t layer = 0; layer < made.layers.size(); ++layer)
          made.sizes[layer][step][w] += std::log(course.sizes[step][layer]) / config.seeds;
    }
    for (auto& layer : made.sizes)
      for (auto& step : layer) step[w] = std::exp(step[w]);
    made.losses.push_back(loss);
  }
  return made;
}

void bench_coordinates(const Bench& bench) {
  CoordinateConfig how = bench.config.coordinates;
  how.seeds = bench.config.samples;
  const train::PretrainConfig& run = bench.run;
  const bool mup = run.model.mup_base_width > 0;
  bench.figures.title(
      fmt::format("mean |activation| after {} steps at lr.lr={}, {} seeds, {}; of blocks what they "
                  "add; d^ is the exponent of growth with the width",
                  how.steps, run.lr.lr, how.seeds,
                  mup ? fmt::format("muP from model.mup_base_width={}", run.model.mup_base_width)
                      : "without muP"));
  const Coordinates made = coordinates(run, how, bench.world);
  bench.figures.title(made.table());
  bench.figures.title(made.verdict(mup));
  Figure figure{"coordinates", mup ? "muP" : "without muP"};
  figure.json = coordinates_json(made);
  bench.figures.keep(std::move(figure));
}

}  // namespace skein::bench
