#include "skein/train/optim/sharded_optimizer.h"

#include <algorithm>
#include <cmath>

#include "skein/checkpoint/parameters.h"
#include "skein/core/philox.h"
#include "skein/core/where.h"
#include "skein/kernels/adamw.h"
#include "skein/kernels/elementwise.h"

namespace skein::train {
namespace {

// Calls use(member, begin, count) for the elements of each member that lie in [first, last) of the
// bucket.
template <class Use>
void each_slice(const Buckets::Bucket& bucket, int64_t first, int64_t last, const Use& use) {
  for (const Buckets::Member& member : bucket.members) {
    const int64_t begin = std::max(first, member.begin),
                  count = std::min(last, member.begin + member.valid) - begin;
    if (count > 0) use(member, begin, count);
  }
}

}  // namespace

ShardedOptimizer::ShardedOptimizer(std::unique_ptr<const Optimizer> optimizer,
                                   const OptimizerConfig& config, Buckets& buckets, bool zero,
                                   uint64_t seed)
    : optimizer_(std::move(optimizer)),
      config_(config),
      buckets_(buckets),
      zero_(zero),
      seed_(seed) {
  check(config);
  for (const auto& bucket : buckets.all()) {
    State& state = states_.emplace_back();
    if (bucket.alias) continue;
    require(!config.stochastic_rounding || bucket.values.dtype() == DType::bf16,
            "optimizer.stochastic_rounding rounds bf16 weights, but these are {}; set "
            "train.precision=bf16 or leave it out",
            name_of(bucket.values.dtype()));
    begin(state, bucket);
  }
}

void ShardedOptimizer::begin(State& state, const Buckets::Bucket& bucket) const {
  state.learns = !bucket.frozen;
  state.begin = zero_ ? buckets_.own_begin(bucket) : 0;
  state.size = zero_ ? buckets_.own_size(bucket) : bucket.size;
  const DType sums = gradient_dtype(bucket.values.dtype());
  state.master = bucket.values.flat(state.begin, state.size).to(sums);
  if (config_.mean_decay > 0) state.mean = state.master.clone();
  for (size_t i = 0; state.learns && i < optimizer_->state_names().size(); ++i)
    state.kept.push_back(Tensor::zeros({state.size}, sums, bucket.values.device()));
}

int64_t ShardedOptimizer::bytes() const {
  int64_t total = 0;
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    if (!state.master.defined()) continue;
    const bool apart = state.master.dtype() != buckets_.all()[b].values.dtype();
    for (const Tensor& kept : state.kept) total += kept.bytes();
    total += (apart ? state.master.bytes() : 0) + (state.mean.defined() ? state.mean.bytes() : 0);
  }
  return total;
}

double ShardedOptimizer::step(double lr, double gradient_scale, const StepLimits& most) {
  applied_ = false;
  if (config_.ridge > 0) add_ridge(gradient_scale);
  Update update{.number = steps_ + 1, .gradient_scale = gradient_scale, .clip = config_.clip};
  update.square_sum = buckets_.gradient_square_sum();
  const auto norm_of = [&] {
    return gradient_scale * std::sqrt(*update.square_sum.to(Device{}).data<double>());
  };
  if (std::isfinite(most.norm) || std::isfinite(most.ridge_loss))
    if (const double norm = norm_of(); !(norm <= most.norm && ridge_loss_ <= most.ridge_loss))
      return norm;
  std::vector<Shard> shards;
  for (size_t b = 0; b < states_.size(); ++b)
    if (states_[b].learns) add_shards(b, lr, shards);
  optimizer_->update(shards, update);
  for (size_t b = 0; b < states_.size() && config_.stochastic_rounding; ++b)
    if (states_[b].learns) round(b, update.number, update.square_sum);
  if (zero_) buckets_.gather_values();
  buckets_.values_changed();
  const double norm = norm_of();
  applied_ = std::isfinite(norm);
  if (!applied_) return norm;
  ++steps_;
  for (const State& state : states_)
    if (state.mean.defined() && state.learns) follow(state);
  return norm;
}

void ShardedOptimizer::add_ridge(double gradient_scale) {
  const WhereScope here = WhereScope::part("ridge");
  const Tensor sum = buckets_.square_sum([this](size_t b) {
    const auto& bucket = buckets_.all()[b];
    return states_[b].master.flat(buckets_.own_begin(bucket) - states_[b].begin,
                                  buckets_.own_size(bucket));
  });
  ridge_loss_ = config_.ridge * *sum.to(Device{}).data<double>();
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    if (!state.learns) continue;
    const Tensor pull = Tensor::empty({state.size}, state.master.dtype(), state.master.device());
    on_device(pull.device(), [&](auto device) {
      kernels::scale(device, state.master, 2 * config_.ridge / gradient_scale, Out(pull));
      kernels::accumulate(device, pull,
                          Out(buckets_.all()[b].gradients.flat(state.begin, state.size)));
    });
  }
}

void ShardedOptimizer::add_shards(size_t b, double lr, std::vector<Shard>& shards) const {
  const auto& bucket = buckets_.all()[b];
  const State& state = states_[b];
  const bool rounded =
      bucket.values.dtype() != state.master.dtype() && !config_.stochastic_rounding;
  each_slice(bucket, state.begin, state.begin + state.size,
             [&](const Buckets::Member& member, int64_t begin, int64_t count) {
               const double rate = member.parameter->rate;
               const int64_t at = begin - state.begin;
               Shard& shard = shards.emplace_back();
               shard.lr = lr * rate;
               shard.weight_decay = member.parameter->decays ? config_.weight_decay / rate : 0.0;
               shard.values = state.master.flat(at, count);
               shard.gradient = bucket.gradients.flat(begin, count);
               for (const Tensor& kept : state.kept) shard.state.push_back(kept.flat(at, count));
               if (rounded) shard.rounded = bucket.values.flat(begin, count);
             });
}

// By parameter and index in it, so that the layout plays no part but for tensor-parallel shards.
void ShardedOptimizer::round(size_t b, int64_t step, const Tensor& square_sum) const {
  const auto& bucket = buckets_.all()[b];
  const State& state = states_[b];
  each_slice(
      bucket, state.begin, state.begin + state.size,
      [&](const Buckets::Member& member, int64_t begin, int64_t count) {
        const Parameter& parameter = *member.parameter;
        const uint64_t key =
            derive_key(seed_, fmt::format("rounding {} {}", parameter.tensor(), parameter.shard));
        on_device(bucket.values.device(), [&](auto device) {
          kernels::stochastic_round(
              device, {key, static_cast<uint64_t>(step), begin - member.begin, square_sum},
              state.master.flat(begin - state.begin, count), Out(bucket.values.flat(begin, count)));
        });
      });
}

checkpoint::Piece ShardedOptimizer::HeldPart::piece(const std::string& kind,
                                                    const Tensor& of_state) const {
  return checkpoint::piece_of(kind, parameter, inside, of_state.flat(at, count));
}

void ShardedOptimizer::each_part(bool own, const std::function<void(const HeldPart&)>& use) const {
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    const auto& bucket = buckets_.all()[b];
    if (!state.master.defined()) continue;
    const int64_t first = buckets_.own_begin(bucket), last = first + buckets_.own_size(bucket);
    each_slice(bucket, first, last,
               [&](const Buckets::Member& member, int64_t begin, int64_t count) {
                 const Parameter& parameter = *member.parameter;
                 if (!own || parameter.counts)
                   use({state, parameter, begin - state.begin, begin - member.begin, count});
               });
  }
}

std::vector<checkpoint::Piece> ShardedOptimizer::pieces(bool own) const {
  const std::vector<std::string> names = optimizer_->state_names();
  std::vector<checkpoint::Piece> all;
  each_part(own, [&](const HeldPart& held) {
    const State& state = held.state;
    all.push_back(held.piece("param", state.master));
    if (state.mean.defined()) all.push_back(held.piece("ema_param", state.mean));
    for (size_t i = 0; i < state.kept.size(); ++i)
      all.push_back(held.piece(names[i], state.kept[i]));
  });
  return all;
}

std::vector<checkpoint::Piece> ShardedOptimizer::weights(
    bool own, const std::function<bool(const Parameter&)>& wanted) const {
  std::vector<checkpoint::Piece> all;
  each_part(own, [&](const HeldPart& held) {
    if (!wanted || wanted(held.parameter)) all.push_back(held.piece("param", held.state.master));
  });
  return all;
}

std::vector<checkpoint::Piece> ShardedOptimizer::mean_pieces() const {
  std::vector<checkpoint::Piece> all;
  each_part(true, [&](const HeldPart& held) {
    SKEIN_CHECK(held.state.mean.defined());
    all.push_back(held.piece("param", held.state.mean));
  });
  return all;
}

std::vector<Replicated> ShardedOptimizer::replicated() const {
  const std::vector<std::string> names = optimizer_->state_names();
  std::vector<Replicated> all;
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    const auto& bucket = buckets_.all()[b];
    if (bucket.alias) continue;
    const auto add = [&](const std::string& kind, const Tensor& of_bucket, int64_t first,
                         bool data) {
      each_slice(bucket, first, first + of_bucket.size(),
                 [&](const Buckets::Member& member, int64_t begin, int64_t count) {
                   const Parameter& p = *member.parameter;
                   all.push_back({kind + "/" + p.tensor(), of_bucket.flat(begin - first, count),
                                  data, p.split == Split::none, bucket.shared});
                 });
    };
    add("param", bucket.values, 0, true);
    if (state.master.dtype() != bucket.values.dtype())
      add("master", state.master, state.begin, !zero_);
    if (state.mean.defined()) add("ema_param", state.mean, state.begin, !zero_);
    for (size_t i = 0; i < state.kept.size(); ++i)
      add(names[i], state.kept[i], state.begin, !zero_);
  }
  return all;
}

void ShardedOptimizer::begin_mean() {
  for (State& state : states_)
    if (state.master.defined()) state.mean.copy_from(state.master);
}

void ShardedOptimizer::follow(const State& state) const {
  const Tensor now = Tensor::empty({state.size}, state.mean.dtype(), state.mean.device());
  on_device(now.device(), [&](auto device) {
    kernels::scale(device, state.master, 1 - config_.mean_decay, Out(now));
    kernels::scale(device, state.mean, config_.mean_decay, Out(state.mean));
    kernels::accumulate(device, now, Out(state.mean));
  });
}

// What others have read.
void ShardedOptimizer::gather_state(size_t b) const {
  const State& state = states_[b];
  const auto& bucket = buckets_.all()[b];
  buckets_.gather(bucket, state.master);
  if (state.mean.defined()) buckets_.gather(bucket, state.mean);
  for (const Tensor& kept : state.kept) buckets_.gather(bucket, kept);
}

void ShardedOptimizer::loaded(int64_t steps) {
  steps_ = steps;
  for (size_t b = 0; b < states_.size(); ++b)
    if (!zero_ && states_[b].master.defined()) gather_state(b);
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    const auto& bucket = buckets_.all()[b];
    if (state.learns && config_.stochastic_rounding)
      round(b, steps_, {});
    else if (state.master.defined() && bucket.values.dtype() != state.master.dtype())
      bucket.values.flat(state.begin, state.size).copy_from(state.master.to(bucket.values.dtype()));
  }
  if (zero_) buckets_.gather_values(true);
  buckets_.values_changed();
}

}  // namespace skein::train
