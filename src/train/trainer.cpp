#include "skein/train/trainer.h"

#include <bit>
#include <chrono>
#include <cmath>
#include <numeric>

#include "skein/core/log.h"
#include "skein/parallel/pipeline.h"

namespace skein {

void bind(Options& options, PretrainConfig& c) {
  bind(options, c.model);
  auto& p = c.parallel;
  options.add("parallel.pipeline", p.pipeline, "pipeline stages", "ranks");
  options.add("parallel.tensor", p.tensor, "tensor-parallel shards", "ranks");
  options.add("parallel.data", p.data, "data-parallel replicas; 0 takes the ranks that are left", "ranks");
  options.add("parallel.chunks", p.chunks, "model pieces a pipeline rank (interleaved schedule)");
  options.add("parallel.sequence", p.sequence, "divide activations over positions between tensor-parallel ranks");
  options.add("parallel.zero", p.zero, "divide the optimizer's state over data-parallel ranks");
  options.add_choice("parallel.schedule", p.schedule,
                     {{"gpipe", ScheduleKind::gpipe}, {"1f1b", ScheduleKind::one_f_one_b},
                      {"interleaved", ScheduleKind::interleaved}}, "pipeline schedule");
  options.add_choice("parallel.recompute", p.recompute,
                     {{"none", Recompute::none}, {"selective", Recompute::selective}, {"full", Recompute::full}},
                     "what backward computes again");
  options.add("parallel.reduction_groups", p.reduction_groups, "groups of the canonical gradient sum; 0 chooses");
  options.add("parallel.layers", p.layers, "blocks of each pipeline piece; empty is even");
  options.add("train.steps", c.train.steps, "optimizer steps", "steps");
  options.add("train.global_batch", c.train.global_batch, "sequences a step", "sequences");
  options.add("train.micro_batch", c.train.micro_batch, "sequences a forward pass", "sequences");
  options.add("train.seed", c.train.seed, "of start weights, sample order and dropout");
  options.add("train.log_every", c.train.log_every, "steps between progress lines", "steps");
  bind(options, c.lr);
  bind(options, c.optimizer);
  options.add("data.train", c.data.train, "token stores to train on, each PATH or WEIGHT:PATH");
  options.add("data.validation", c.data.validation, "token stores to evaluate on");
  options.add("data.shuffle", c.data.shuffle, "visit samples in a shuffled order");
  options.add("data.cross_document_attention", c.data.cross_document_attention, "attention may cross document ends");
  options.add("data.mask_document_ends", c.data.mask_document_ends, "do not learn the first token of the next document");
}

namespace {

struct Layout {
  MeshShape mesh;
  int groups_per_rank = 1;
  int64_t samples_per_rank = 0;
};

MeshShape mesh_shape(const ParallelConfig& p, int ranks) {
  require(p.pipeline > 0 && p.tensor > 0, "parallel.pipeline={} and parallel.tensor={} must be at least 1", p.pipeline, p.tensor);
  return {p.pipeline, p.data ? p.data : std::max(1, ranks / (p.pipeline * p.tensor)), p.tensor};
}

Layout make_layout(const PretrainConfig& c, int ranks) {
  const int64_t batch = c.train.global_batch, micro = c.train.micro_batch;
  Layout layout;
  layout.mesh = mesh_shape(c.parallel, ranks);
  const int dp = layout.mesh.dp;
  require(batch > 0 && micro > 0, "train.global_batch={} and train.micro_batch={} must be at least 1", batch, micro);
  int64_t groups = c.parallel.reduction_groups;
  if (groups == 0) groups = std::max<int64_t>(std::min<int64_t>(8, batch & -batch), dp);
  require(std::has_single_bit(static_cast<uint64_t>(groups)) && groups % dp == 0 && batch % groups == 0,
          "parallel.reduction_groups={} must be a power of two, a multiple of the {} data-parallel ranks and a divisor of "
          "train.global_batch={}", groups, dp, batch);
  require(batch / groups % micro == 0,
          "train.micro_batch={} does not divide the {} sequences of a reduction group (train.global_batch={} / "
          "parallel.reduction_groups={}); change one of them", micro, batch / groups, batch, groups);
  layout.groups_per_rank = static_cast<int>(groups / dp);
  layout.samples_per_rank = batch / dp;
  check_schedule_fits(c.parallel.schedule, layout.mesh.pp, static_cast<int>(layout.samples_per_rank / micro), c.parallel.chunks);
  return layout;
}

class Run {
 public:
  Run(const PretrainConfig& config, const Layout& layout, Mesh& mesh)
      : config_(config), layout_(layout), mesh_(mesh), parameters_(DType::f32, mesh.tp().rank(), mesh.tp().size()) {
    build_model();
    buckets_ = std::make_unique<Buckets>(parameters_, mesh, layout.groups_per_rank);
    parameters_.initialize(config.train.seed);
    optimizer_ = std::make_unique<Optimizer>(config.optimizer, *buckets_, config.parallel.zero);
    PipelineModel model;
    for (const auto& piece : pieces_) model.pieces.push_back(piece.get());
    model.objective = objective_.get();
    pipeline_ = std::make_unique<Pipeline>(mesh, model, config.parallel.schedule);
  }

  // Mean loss and gradient norm.
  std::pair<double, double> step(const Loader& loader, int64_t number) {
    PipelineStep work = batches(loader, number * config_.train.global_batch, true);
    const int64_t per_group = layout_.samples_per_rank / layout_.groups_per_rank / config_.train.micro_batch;
    work.after_backward = [&, per_group](int micro_batch, int chunk) {
      if ((micro_batch + 1) % per_group == 0) buckets_->end_group(chunk);
    };
    buckets_->zero_gradients();
    const double loss = mean(pipeline_->run(work, pass(number, true)), work.loss_scale);
    buckets_->reduce(!config_.parallel.zero);
    return {loss, optimizer_->step(learning_rate(config_.lr, number, config_.train.steps))};
  }

  double evaluate(const Loader& loader) {
    const int64_t batch = config_.train.global_batch;
    const int64_t rounds = std::clamp<int64_t>(loader.samples_per_epoch() / batch, 1, 16);
    double total = 0;
    for (int64_t i = 0; i < rounds; ++i) {
      const PipelineStep work = batches(loader, i * batch, false);
      total += mean(pipeline_->run(work, pass(0, false)), work.loss_scale);
    }
    return total / static_cast<double>(rounds);
  }

 private:
  void build_model() {
    const int stages = mesh_.pp().size(), chunks = config_.parallel.chunks, count = stages * chunks;
    const auto split = split_layers(static_cast<int>(config_.model.n_layers), count, config_.parallel.layers);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      const int piece = chunk * stages + mesh_.stage();
      const int first = std::accumulate(split.begin(), split.begin() + piece, 0);
      pieces_.push_back(std::make_unique<Gpt>(
          config_.model, GptPiece{first, first + split[static_cast<size_t>(piece)], piece == 0, piece == count - 1, chunk},
          config_.parallel.sequence, parameters_));
    }
    if (mesh_.last_stage()) objective_ = std::make_unique<NextToken>(*pieces_.back());
  }

  PipelineStep batches(const Loader& loader, int64_t first, bool train) const {
    PipelineStep work;
    const int64_t own = first + mesh_.dp().rank() * layout_.samples_per_rank, micro = config_.train.micro_batch;
    double counted = 0;
    for (int64_t i = 0; i < layout_.samples_per_rank; i += micro) {
      work.micro_batches.push_back(loader.batch(own + i, micro));
      for (float weight : work.micro_batches.back().weights.span<float>()) counted += weight;
    }
    work.loss_scale = 1 / std::max(1.0, mesh_.dp().sum(counted));
    work.train = train;
    return work;
  }

  Pass pass(int64_t step, bool train) const {
    Pass made;
    made.tp = &mesh_.tp();
    made.sequence_parallel = config_.parallel.sequence;
    made.train = train;
    made.seed = config_.train.seed;
    made.step = step;
    made.recompute = config_.parallel.recompute;
    return made;
  }

  // Sums of all samples of the step in sample order, on every rank.
  double mean(const std::vector<double>& own, double scale) const {
    const int64_t count = layout_.samples_per_rank;
    const Tensor sums = Tensor::zeros({count}, DType::f64), all = Tensor::zeros({count * mesh_.dp().size()}, DType::f64);
    if (!own.empty()) std::copy(own.begin(), own.end(), sums.data<double>());
    mesh_.dp().all_gather(sums, all);
    mesh_.pp().broadcast(all, mesh_.pp().size() - 1);
    double total = 0;
    for (double sum : all.span<double>()) total += sum;
    return total * scale;
  }

  PretrainConfig config_;
  Layout layout_;
  Mesh& mesh_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Gpt>> pieces_;
  std::unique_ptr<NextToken> objective_;
  std::unique_ptr<Buckets> buckets_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Pipeline> pipeline_;
};

}  // namespace

TrainResult pretrain(PretrainConfig config, Group& world) {
  using Clock = std::chrono::steady_clock;
  require(!config.data.train.empty(), "data.train names no token store; make one with skein-data encode");
  const Loader loader(config.data.train, config.model.context, config.train.seed, config.data);
  if (config.model.vocab_size == 0) config.model.vocab_size = loader.vocab_size();
  require(config.model.vocab_size >= loader.vocab_size(), "model.vocab_size={} is smaller than the store's {}",
          config.model.vocab_size, loader.vocab_size());
  const Layout layout = make_layout(config, world.size());
  check(config.model, layout.mesh.tp, config.parallel.sequence);
  Mesh mesh(world, layout.mesh);
  Run run(config, layout, mesh);
  log::info("{} parameters, layout pipeline {} x data {} x tensor {}", config.model.parameters(), layout.mesh.pp,
            layout.mesh.dp, layout.mesh.tp);
  TrainResult result;
  const auto start = Clock::now();
  for (int64_t step = 0; step < config.train.steps; ++step) {
    const auto [loss, norm] = run.step(loader, step);
    result.losses.push_back(loss);
    require(std::isfinite(norm), "step {}: the gradient norm is not finite; lower lr.lr={}", step + 1, config.lr.lr);
    if ((step + 1) % config.train.log_every && step + 1 < config.train.steps) continue;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double done = static_cast<double>(step + 1);
    log::info("step {}/{}  loss {:.4f}  grad_norm {:.3f}  lr {:.2e}  {:.0f} tokens/s  ETA {:.0f} s", step + 1,
              config.train.steps, loss, norm, learning_rate(config.lr, step, config.train.steps),
              done * static_cast<double>(config.train.global_batch * config.model.context) / seconds,
              seconds / done * (static_cast<double>(config.train.steps) - done));
  }
  if (!config.data.validation.empty()) {
    const Loader validation(config.data.validation, config.model.context, config.train.seed, config.data);
    result.validation_loss = run.evaluate(validation);
    log::info("validation loss {:.4f}, perplexity {:.2f}, bits per byte {:.4f}", result.validation_loss,
              std::exp(result.validation_loss), result.validation_loss / std::log(2.0) / validation.bytes_per_token());
  }
  return result;
}

}  // namespace skein
