#include "skein/train/optim/optimizer.h"

#include <algorithm>
#include <cmath>

#include "skein/checkpoint/parameters.h"
#include "skein/core/philox.h"
#include "skein/core/where.h"
#include "skein/kernels/adamw.h"
#include "skein/kernels/elementwise.h"

namespace skein {

void bind(Options& options, OptimizerConfig& c) {
  options.add("optimizer.beta1", c.beta1, "decay of the first moment");
  options.add("optimizer.beta2", c.beta2, "decay of the second moment");
  options.add("optimizer.epsilon", c.epsilon, "added to the root of the second moment");
  options.add("optimizer.weight_decay", c.weight_decay,
              "decoupled decay of matrices and embeddings");
  options.add(
      "optimizer.ridge", c.ridge,
      "lambda of lambda |theta|^2 added to the loss, over all parameters that learn; 0 adds none");
  options.add("optimizer.clip", c.clip, "largest global gradient norm; 0 does not clip");
  options.add("optimizer.stochastic_rounding", c.stochastic_rounding,
              "round bf16 weights up or down at random, by how near each is, so that small updates "
              "are not lost");
}

Optimizer::Optimizer(const OptimizerConfig& config, Buckets& buckets, bool zero, int shard,
                     uint64_t seed)
    : config_(config), buckets_(buckets), zero_(zero), shard_(shard), seed_(seed) {
  require(std::isfinite(config.ridge) && config.ridge >= 0,
          "optimizer.ridge={} must be a number from 0", config.ridge);
  for (const auto& bucket : buckets.all()) {
    State& state = states_.emplace_back();
    if (bucket.alias) continue;
    state.begin = zero ? buckets.own_begin(bucket) : 0;
    state.size = zero ? buckets.own_size(bucket) : bucket.size;
    const DType sums = bucket.gradients.dtype();
    state.master = bucket.values.flat(state.begin, state.size).to(sums);
    if (config.mean_decay > 0) state.mean = state.master.clone();
    if (!bucket.frozen) state.m = Tensor::zeros({state.size}, sums, bucket.values.device());
    if (!bucket.frozen) state.v = Tensor::zeros({state.size}, sums, bucket.values.device());
    require(!config.stochastic_rounding || bucket.values.dtype() == DType::bf16,
            "optimizer.stochastic_rounding rounds bf16 weights, but these are {}; set "
            "train.precision=bf16 or leave it out",
            name_of(bucket.values.dtype()));
  }
}

int64_t Optimizer::bytes() const {
  int64_t total = 0;
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    if (!state.master.defined()) continue;
    const bool apart = state.master.dtype() != buckets_.all()[b].values.dtype();
    total += (state.m.defined() ? state.m.bytes() + state.v.bytes() : 0) +
             (apart ? state.master.bytes() : 0) + (state.mean.defined() ? state.mean.bytes() : 0);
  }
  return total;
}

double Optimizer::step(double lr, double gradient_scale) {
  if (config_.ridge > 0) add_ridge(gradient_scale);
  const Tensor square_sum = buckets_.gradient_square_sum();
  for (size_t b = 0; b < states_.size(); ++b)
    if (states_[b].m.defined()) update(b, lr, gradient_scale, square_sum);
  if (zero_) buckets_.gather_values();
  buckets_.values_changed();
  const double norm = gradient_scale * std::sqrt(*square_sum.to(Device{}).data<double>());
  if (!std::isfinite(norm)) return norm;
  ++steps_;
  for (const State& state : states_)
    if (state.mean.defined() && state.m.defined()) follow(state);
  return norm;
}

void Optimizer::add_ridge(double gradient_scale) {
  const Within here = Within::part("ridge");
  const Tensor sum = buckets_.square_sum([this](size_t b) {
    const auto& bucket = buckets_.all()[b];
    return states_[b].master.flat(buckets_.own_begin(bucket) - states_[b].begin,
                                  buckets_.own_size(bucket));
  });
  ridge_loss_ = config_.ridge * *sum.to(Device{}).data<double>();
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    if (!state.m.defined()) continue;
    const Tensor pull = Tensor::empty({state.size}, state.master.dtype(), state.master.device());
    on_device(pull.device(), [&](auto device) {
      kernels::scale(device, state.master, 2 * config_.ridge / gradient_scale, pull);
      kernels::accumulate(device, pull, buckets_.all()[b].gradients.flat(state.begin, state.size));
    });
  }
}

void Optimizer::update(size_t b, double lr, double gradient_scale, const Tensor& square_sum) {
  const auto& bucket = buckets_.all()[b];
  State& state = states_[b];
  const bool has_master =
      bucket.values.dtype() != state.master.dtype() && !config_.stochastic_rounding;
  for (const auto& member : bucket.members) {
    const int64_t begin = std::max(state.begin, member.begin);
    const int64_t count = std::min(state.begin + state.size, member.begin + member.valid) - begin;
    if (count <= 0) continue;
    const double rate = member.parameter->rate,
                 decay = member.parameter->decays ? config_.weight_decay / rate : 0.0;
    const kernels::AdamWArguments arguments{lr * rate,       config_.beta1, config_.beta2,
                                            config_.epsilon, decay,         gradient_scale,
                                            steps_ + 1,      square_sum,    config_.clip};
    const Tensor working = has_master ? bucket.values.flat(begin, count) : Tensor();
    on_device(bucket.values.device(), [&](auto device) {
      kernels::adamw(device, arguments, bucket.gradients.flat(begin, count),
                     state.master.flat(begin - state.begin, count),
                     state.m.flat(begin - state.begin, count),
                     state.v.flat(begin - state.begin, count), working);
    });
  }
  if (config_.stochastic_rounding) round(b, steps_ + 1, square_sum);
}

// By parameter and place in it, so that the layout plays no part but for tensor-parallel shards.
void Optimizer::round(size_t b, int64_t step, const Tensor& square_sum) const {
  const auto& bucket = buckets_.all()[b];
  const State& state = states_[b];
  for (const auto& member : bucket.members) {
    const int64_t begin = std::max(state.begin, member.begin),
                  count = std::min(state.begin + state.size, member.begin + member.valid) - begin;
    if (count <= 0) continue;
    const Parameter& parameter = *member.parameter;
    const int shard = parameter.split == Split::none ? 0 : shard_;
    const uint64_t key =
        derive_key(seed_, fmt::format("rounding {} {}", parameter.tensor(), shard));
    on_device(bucket.values.device(), [&](auto device) {
      kernels::stochastic_round(
          device, {key, static_cast<uint64_t>(step), begin - member.begin, square_sum},
          state.master.flat(begin - state.begin, count), bucket.values.flat(begin, count));
    });
  }
}

void Optimizer::each_part(bool own,
                          const std::function<void(const State&, const Parameter&, int64_t, int64_t,
                                                   int64_t)>& use) const {
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    const auto& bucket = buckets_.all()[b];
    if (!state.master.defined()) continue;
    const int64_t first = own ? buckets_.own_begin(bucket) : state.begin;
    const int64_t last = own ? first + buckets_.own_size(bucket) : state.begin + state.size;
    for (const auto& member : bucket.members) {
      const Parameter& parameter = *member.parameter;
      if (own && (parameter.tied() || (parameter.split == Split::none && shard_ > 0))) continue;
      const int64_t begin = std::max(first, member.begin),
                    count = std::min(last, member.begin + member.valid) - begin;
      if (count > 0) use(state, parameter, begin - state.begin, begin - member.begin, count);
    }
  }
}

std::vector<Piece> Optimizer::pieces(bool own) const {
  std::vector<Piece> all;
  each_part(own, [&](const State& state, const Parameter& parameter, int64_t at, int64_t inside,
                     int64_t count) {
    all.push_back(piece_of("param", parameter, inside, state.master.flat(at, count)));
    if (state.mean.defined())
      all.push_back(piece_of("ema_param", parameter, inside, state.mean.flat(at, count)));
    if (!state.m.defined()) return;
    all.push_back(piece_of("adam_m", parameter, inside, state.m.flat(at, count)));
    all.push_back(piece_of("adam_v", parameter, inside, state.v.flat(at, count)));
  });
  return all;
}

std::vector<Piece> Optimizer::weights(bool own,
                                      const std::function<bool(const Parameter&)>& wanted) const {
  std::vector<Piece> all;
  each_part(own, [&](const State& state, const Parameter& parameter, int64_t at, int64_t inside,
                     int64_t count) {
    if (!wanted || wanted(parameter))
      all.push_back(piece_of("param", parameter, inside, state.master.flat(at, count)));
  });
  return all;
}

std::vector<Piece> Optimizer::mean_pieces() const {
  std::vector<Piece> all;
  each_part(true, [&](const State& state, const Parameter& parameter, int64_t at, int64_t inside,
                      int64_t count) {
    SKEIN_CHECK(state.mean.defined());
    all.push_back(piece_of("param", parameter, inside, state.mean.flat(at, count)));
  });
  return all;
}

void Optimizer::begin_mean() {
  for (State& state : states_)
    if (state.master.defined()) state.mean.copy_from(state.master);
}

void Optimizer::follow(const State& state) const {
  const Tensor now = Tensor::empty({state.size}, state.mean.dtype(), state.mean.device());
  on_device(now.device(), [&](auto device) {
    kernels::scale(device, state.master, 1 - config_.mean_decay, now);
    kernels::scale(device, state.mean, config_.mean_decay, state.mean);
    kernels::accumulate(device, now, state.mean);
  });
}

void Optimizer::loaded(int64_t steps) {
  steps_ = steps;
  for (size_t b = 0; b < states_.size(); ++b) {
    const State& state = states_[b];
    const auto& bucket = buckets_.all()[b];
    if (state.m.defined() && config_.stochastic_rounding)
      round(b, steps_, {});
    else if (state.master.defined() && bucket.values.dtype() != state.master.dtype())
      bucket.values.flat(state.begin, state.size).copy_from(state.master.to(bucket.values.dtype()));
  }
  if (zero_) buckets_.gather_values(true);
  buckets_.values_changed();
}

}  // namespace skein
