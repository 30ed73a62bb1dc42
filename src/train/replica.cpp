// Invariants of a step, whatever the layout.
//
// Samples: a rank has those of the step that BatchPlan::own_samples names, neighbours or, where
// ranks take turns, a run of them a turn, in micro-batches of equal size and in sample order, so in
// whole reduction groups: parts of one, or several. Each place's weight is divided by what counts
// in the global batch before anything is added (cut), so that micro-batches and ranks only add.
//
// Gradients: backpropagate() begins with zeros and ends with every bucket's own slice final;
// without ZeRO all of it is. In between a bucket's groups end while backward still runs on the
// blocks before it (Buckets::end_group): nothing reads a gradient there, and nobody adds to one of
// a bucket that is complete. An auxiliary batch goes through the same buckets a second time, and
// the two final sums are added, never their parts.
//
// Values: the optimizer alone changes them, after all of that. It goes by a norm that has the same
// bits on every rank, so either every rank applies the step or none does.
//
// Losses: an f64 sum for each sample comes from the last stage, is gathered in sample order, and is
// added from the left on every rank. So the loss has the same bits on all ranks and layouts.
//
// All ranks call these collectives in this order; none of it depends on what a rank alone has seen.
#include "skein/train/replica.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "skein/core/profile.h"
#include "skein/core/where.h"
#include "skein/data/samples/windows.h"
#include "skein/kernels/elementwise.h"
#include "skein/nn/cost.h"
#include "skein/tensor/buffer.h"
#include "skein/train/commit_schedule.h"

namespace skein::train {
namespace {

[[noreturn]] void advise(const OutOfMemory& error, const ModelConfig& model,
                         const MemoryShape& shape) {
  throw OutOfMemory(fmt::format("{}. {}", error.what(), memory_advice(model, shape)));
}

// What `make` makes.
template <class Make>
auto with_advice(const PretrainConfig& config, const BatchPlan& plan, const Mesh& mesh,
                 LocalModel& model, const Make& make) {
  try {
    return make();
  } catch (const OutOfMemory& error) {
    advise(error, config.model, learning_shape(config, plan, mesh, model));
  }
}

Buckets made_buckets(const PretrainConfig& config, const BatchPlan& plan,
                     const BatchPlan* auxiliary, Mesh& mesh, LocalModel& model) {
  const int beside = auxiliary ? auxiliary->sums_per_rank() : 1,
            most = std::max(plan.sums_per_rank(), beside);
  require_memory(mesh.world(), model.parameters().device(), config.model,
                 learning_shape(config, plan, mesh, model));
  return with_advice(config, plan, mesh, model, [&] {
    return Buckets(model.parameters(), mesh, {most, plan.strided, config.parallel.equal_bits});
  });
}

// It copies the values, so they must have begun.
ShardedOptimizer made_optimizer(const PretrainConfig& config, const BatchPlan& plan,
                                const Learning& learning, const Mesh& mesh, LocalModel& model,
                                Buckets& buckets) {
  if (learning.start_values) model.parameters().initialize(config.train.seed);
  return with_advice(config, plan, mesh, model, [&] {
    return ShardedOptimizer(make_optimizer(config.optimizer), config.optimizer, buckets,
                            config.parallel.zero, config.train.seed);
  });
}

PipelineModel learning_model(LocalModel& model, const Mesh& mesh, const Learning& learning) {
  auto objective = learning.objective && mesh.last_stage() ? learning.objective(model) : nullptr;
  if (objective) model.learn(std::move(objective));
  return model.pipeline_model();
}

Snapshot snapshot_of(const PretrainConfig& config) {
  if (config.run.dir.empty()) return Snapshot::none;
  const DeviceKind device = device_of(config.parallel.device).kind;
  if (device == DeviceKind::cuda) return Snapshot::on_host;
  const CheckpointConfig& c = config.checkpoint;
  const bool on_the_way = (c.every > 0 && c.every < config.train.steps) || c.minutes > 0 ||
                          c.mean_time_between_failures > 0;
  return on_the_way && saves_beside(c, device) ? Snapshot::beside : Snapshot::waited_for;
}

}  // namespace

MemoryShape learning_shape(const PretrainConfig& config, const BatchPlan& plan, const Mesh& mesh,
                           const LocalModel& model) {
  MemoryShape made = memory_shape(config.model, config.parallel, plan, mesh, model);
  const auto optimizer = make_optimizer(config.optimizer);
  made.optimizer_bytes = optimizer->bytes_per_parameter(made.dtype);
  made.frozen_bytes = optimizer->bytes_per_parameter(made.dtype, false);
  made.snapshot = snapshot_of(config);
  return made;
}

Replica::Replica(const PretrainConfig& config, const BatchPlan& plan, Mesh& mesh,
                 const Learning& learning, const BatchPlan& auxiliary)
    : config_(config),
      plan_(plan),
      auxiliary_plan_(auxiliary),
      mesh_(mesh),
      terms_(learning.terms),
      model_(config.model, config.parallel, mesh, config.precision(), config.train.frozen_layers),
      buckets_(made_buckets(config, plan, learning.auxiliary ? &auxiliary : nullptr, mesh, model_)),
      optimizer_(made_optimizer(config, plan, learning, mesh, model_, buckets_)),
      pipeline_(mesh, learning_model(model_, mesh, learning), config.parallel.schedule,
                config.parallel.cuda_graph),
      flops_(config.model, AttentionCount::half, config.train.frozen_layers) {
  model_.parameters().keep_packed();
  if (!learning.auxiliary) return;
  PipelineModel network = model_.pipeline_model();
  if (mesh.last_stage()) auxiliary_objective_ = learning.auxiliary(model_);
  network.objective = auxiliary_objective_.get();
  auxiliary_ = std::make_unique<Pipeline>(mesh, network, config.parallel.schedule);
}

PipelineStep Replica::cut(const data::Batch& batch, const BatchPlan& plan) const {
  SKEIN_CHECK_EQ(batch.size(), plan.samples_per_rank);
  PipelineStep work;
  for (int64_t i = 0; i < batch.size(); i += plan.micro_batch)
    work.micro_batches.push_back(
        trimmed(batch_rows(batch, i, i + plan.micro_batch), row_multiple(config_.parallel)));
  double counted = 0;
  for (float weight : batch.weights.span<float>()) counted += weight;
  work.loss_scale = 1 / std::max(1.0, mesh_.dp().sum(counted));
  work.sample_scale = 1.0 / plan.global_batch;
  return work;
}

namespace {

// Pairs in which a token of a prefix sees a later one.
double pairs_ahead(const data::Batch& batch) {
  double pairs = 0;
  if (batch.prefix.defined())
    for (const double tokens : batch.prefix.span<int32_t>()) pairs += tokens * (tokens - 1) / 2;
  return pairs;
}

}  // namespace

// Rows without padding or prefixes cost the same on all ranks.
Replica::StepWork Replica::step_work(const PipelineStep& work, bool differs) {
  StepWork made{work.loss_scale};
  for (const data::Batch& batch : work.micro_batches) {
    const bool two_sided = batch.source.tokens.defined();
    const double tokens = batch.tokens.size();
    made.tokens += two_sided ? tokens + batch.source.tokens.size() : tokens;
    made.links += static_cast<double>(data::count_links(batch));
    made.flops += tokens * flops_(batch.length(), two_sided ? batch.source.length() : 0) +
                  flops_.further_pairs(pairs_ahead(batch));
    longest_ = std::max(longest_, batch.length());
    if (two_sided) longest_source_ = std::max(longest_source_, batch.source.length());
  }
  const Tensor all = Tensor::zeros({3}, DType::f64);
  std::ranges::copy(std::array{made.tokens, made.links, made.flops}, all.data<double>());
  if (differs) mesh_.dp().all_reduce_sum(all).wait();
  const double same = differs ? 1 : mesh_.dp().size();
  const auto sum = all.span<double>();
  return {made.place_scale, same * sum[0], same * sum[1], same * sum[2]};
}

Replica::StepWork Replica::backpropagate(Pipeline& pipeline, const BatchPlan& plan,
                                         const data::Batch& batch, int64_t number, double factor) {
  PipelineStep work = cut(batch, plan);
  const StepWork made = step_work(work, batch.lengths.defined() || batch.prefix.defined());
  work.loss_scale *= factor;
  work.sample_scale *= factor;
  work.groups_per_micro_batch = plan.groups_per_micro_batch;
  work.sample_by_sample =
      config_.parallel.equal_micro_batches && config_.parallel.device == DeviceKind::cuda;
  work.gradients_done = [this, per_sum = static_cast<int>(plan.micro_batches_per_sum())](
                            int micro_batch, int chunk, int bucket) {
    if ((micro_batch + 1) % per_sum == 0) buckets_.end_group(micro_batch / per_sum, chunk, bucket);
  };
  Pass pass = model_.pass();
  pass.train = true;
  pass.seed = config_.train.seed;
  pass.step = number;
  pipeline.warm_up(work, pass);
  {
    const Span zero("zero gradients");
    buckets_.begin_step(plan.sums_per_rank());
  }
  pipeline.run(work, pass);
  const Span sum("sum gradients");
  buckets_.finish(!config_.parallel.zero);
  return made;
}

// Each of both sums is final before they are added, so that neither's order of samples hangs on the
// layout.
void Replica::add_auxiliary(const AuxiliaryBatch& auxiliary, int64_t number, double loss_scale,
                            StepResult& result) {
  SKEIN_CHECK(auxiliary_ != nullptr);
  const auto own = [this](const Buckets::Bucket& bucket) {
    return config_.parallel.zero ? buckets_.own_part(bucket, bucket.gradients) : bucket.gradients;
  };
  std::vector<Tensor> kept;
  for (const auto& bucket : buckets_.all())
    kept.push_back(bucket.frozen ? Tensor() : own(bucket).clone());
  const StepWork made = backpropagate(*auxiliary_, auxiliary_plan_, auxiliary.batch, number,
                                      auxiliary.coefficient * loss_scale);
  for (size_t b = 0; b < kept.size(); ++b)
    if (kept[b].defined())
      on_device(kept[b].device(), [&](auto device) {
        kernels::accumulate(device, kept[b], Out(own(buckets_.all()[b])));
      });
  const auto losses = auxiliary_->losses();
  result.auxiliary = mean_loss(losses.empty() ? std::vector<double>() : losses.front(),
                               auxiliary_plan_, made.place_scale);
  result.flops += made.flops;
}

StepResult Replica::step(const data::Batch& batch, int64_t number, double lr, double loss_scale,
                         const AuxiliaryBatch* auxiliary, const SpikeDetector::Limits& most) {
  try {
    return learn(batch, number, lr, loss_scale, auxiliary, most);
  } catch (const OutOfMemory& error) {
    MemoryShape shape = learning_shape(config_, plan_, mesh_, model_);
    if (longest_ > 0) {
      shape.tokens = longest_;
      shape.source_tokens = static_cast<double>(longest_source_) / static_cast<double>(longest_);
    }
    advise(error, config_.model, shape);
  }
}

// The losses of the terms, and of those that are learnt.
void Replica::add_terms(double place_scale, StepResult& result) const {
  const auto own = pipeline_.losses();
  for (size_t i = 0; i < terms_.size(); ++i) {
    SKEIN_CHECK(own.empty() || own.size() == terms_.size());
    const double scale =
        terms_[i].over == Term::Over::places ? place_scale : 1.0 / plan_.global_batch;
    result.terms.push_back(mean_loss(own.empty() ? std::vector<double>() : own[i], plan_, scale));
    if (terms_[i].learnt) result.loss += result.terms.back();
  }
}

StepResult Replica::learn(const data::Batch& batch, int64_t number, double lr, double loss_scale,
                          const AuxiliaryBatch* auxiliary, const SpikeDetector::Limits& most) {
  const Span span("step");
  const WhereScope step = WhereScope::step(number + 1);
  StepResult result;
  const StepWork made = backpropagate(pipeline_, plan_, batch, number, loss_scale);
  result.tokens = made.tokens;
  result.links = made.links;
  result.flops = made.flops;
  if (auxiliary) add_auxiliary(*auxiliary, number, loss_scale, result);
  // Devices learn while their losses are asked for, unless it hangs on these.
  const bool first = std::isfinite(most.loss);
  const double beside = auxiliary ? auxiliary->coefficient * result.auxiliary : 0;
  if (first) add_terms(made.place_scale, result);
  {
    const Span update("optimizer");
    result.grad_norm =
        optimizer_.step(lr, 1 / loss_scale, {most.grad_norm, most.loss - result.loss - beside});
  }
  if (!first) add_terms(made.place_scale, result);
  result.applied = optimizer_.applied();
  result.loss += optimizer_.ridge_loss() + beside;
  return result;
}

ReplicaMemory Replica::memory() const {
  ReplicaMemory made;
  for (const auto& bucket : buckets_.all()) {
    if (!bucket.alias) made.parameters += bucket.values.bytes();
    if (bucket.frozen) continue;
    made.gradients += bucket.gradients.bytes();
    for (const Tensor& sum : bucket.pending) made.gradients += sum.bytes();
  }
  made.optimizer = optimizer_.bytes();
  made.packed = model_.parameters().packed_bytes();
  made.work = memory_use(model_.parameters().device().kind).peak - made.parameters -
              made.gradients - made.optimizer - made.packed;
  made.longest = longest_;
  const ParallelConfig& p = config_.parallel;
  made.activations = kept_bytes(
      model_.parameters(), {plan_.micro_batch * longest_,
                            static_cast<double>(longest_source_) / std::max(1.0, 1.0 * longest_),
                            p.sequence, p.recompute,
                            most_in_flight(p.schedule, mesh_.stage(), mesh_.pp().size(),
                                           plan_.micro_batches(), p.chunks)});
  made.snapshot =
      estimated_memory(learning_shape(config_, plan_, mesh_, model_), model_.parameters()).snapshot;
  return made;
}

// Sums of all samples of the step in sample order, on every rank.
double Replica::mean_loss(const std::vector<double>& own, const BatchPlan& plan,
                          double scale) const {
  const int64_t count = plan.samples_per_rank;
  const Tensor sums = Tensor::zeros({count}, DType::f64),
               all = Tensor::zeros({plan.global_batch}, DType::f64);
  if (!own.empty()) std::ranges::copy(own, sums.data<double>());
  mesh_.dp().all_gather(sums, all).wait();
  mesh_.share_last_stage(all);
  double total = 0;
  for (double sum : plan.in_sample_order(all.span<double>())) total += sum;
  return total * scale;
}

}  // namespace skein::train
