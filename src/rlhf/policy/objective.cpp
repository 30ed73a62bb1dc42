#include "skein/rlhf/policy/objective.h"

#include <cmath>

#include "skein/core/where.h"
#include "skein/ops/attention.h"
#include "skein/ops/math.h"

namespace skein {
namespace {

// Of a banned id: no softmax sees it, and times 0 it is still 0. f16 knows no larger one.
double never(DType dtype) { return dtype == DType::f16 ? -6e4 : -1e9; }

Weight ban_of(const Predictor& model, const std::vector<int64_t>& banned) {
  if (banned.empty()) return {};
  const Tensor& weight = model.head().value;
  const ops::VocabShard shard = model.vocab_shard();
  const Tensor scores = Tensor::zeros({weight.dim(0)}, DType::f64);
  for (int64_t id : banned)
    if (id >= shard.first_id && id < shard.first_id + shard.valid)
      scores.data<double>()[id - shard.first_id] = never(weight.dtype());
  return {scores.to(weight.dtype()).to(weight.device()), {}};
}

Tensor host_numbers(const Tensor& of) { return of.to(Device{}).to(DType::f64); }

// The terms of an objective, put together.
class Parts {
 public:
  Parts(const Tensor& weights, const LossPass& pass, const Var& output)
      : weights_(weights), places_(row_weights_of(weights, pass.loss_scale, output.value())) {}

  // Of a place in the total.
  const Tensor& places() const { return places_; }
  Tensor zeros() const { return Tensor::zeros(places_.shape(), places_.dtype(), places_.device()); }
  // [M] f64 on the host, as gradients and losses are kept.
  Tensor kept(const Tensor& value) const { return value.to(places_.dtype()).to(places_.device()); }
  void learn(const Var& rows, const Tensor& row_weights) {
    rows_.push_back(rows);
    row_weights_.push_back(row_weights);
  }
  void tell(const Tensor& value) { learn(Var(kept(value)), zeros()); }

  Losses losses() const {
    const Tensor all = Tensor::empty({places_.size() * static_cast<int64_t>(rows_.size())},
                                     places_.dtype(), places_.device());
    for (size_t i = 0; i < rows_.size(); ++i)
      all.flat(static_cast<int64_t>(i) * places_.size(), places_.size()).copy_from(row_weights_[i]);
    return {ops::end_to_end(rows_), all, std::vector<Tensor>(rows_.size(), weights_)};
  }

 private:
  Tensor weights_, places_;
  std::vector<Var> rows_;
  std::vector<Tensor> row_weights_;
};

// The weights of places times the factor of their aggregation.
Tensor weighed_by_factor(const Batch& batch) {
  const Tensor made = batch.weights.clone();
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<float>()[i] *= batch.known.data<float>()[i * known::columns + known::factor];
  return made;
}

struct ValueRows {
  Tensor losses, slopes, clipped;  // [M] f64
};

// What a critic of its own says, as values, [M] f64 on the host.
Tensor scaled(const Tensor& scores, const ValueRules& rules) {
  const Tensor said = host_numbers(scores), made = Tensor::empty({said.size()}, DType::f64);
  for (int64_t i = 0; i < said.size(); ++i)
    made.data<double>()[i] = (said.data<double>()[i] - rules.mean) / rules.deviation;
  return made;
}

ValueRows value_rows(const Tensor& values, const Batch& batch, const ValueRules& rules) {
  const Tensor found = host_numbers(values);
  const int64_t rows = found.size();
  const ValueRows made{Tensor::zeros({rows}, DType::f64), Tensor::zeros({rows}, DType::f64),
                       Tensor::zeros({rows}, DType::f64)};
  for (int64_t i = 0; i < rows; ++i) {
    const float* known = batch.known.data<float>() + i * known::columns;
    if (batch.weights.data<float>()[i] == 0) continue;
    const ValueLoss one = value_loss(found.data<double>()[i], known[known::old_value],
                                     known[known::return_to_go], rules.clip);
    const double factor = rules.coefficient * known[known::factor];
    made.losses.data<double>()[i] = factor * one.loss;
    made.slopes.data<double>()[i] = factor * one.derivative;
    made.clipped.data<double>()[i] = one.clipped;
  }
  return made;
}

}  // namespace

// What the rows of a micro-batch come to, [M] f64 on the host each.
struct PolicyObjective::Rows {
  explicit Rows(int64_t rows) {
    for (Tensor* one : {&loss, &approx_kl, &clipped, &ratio, &off_one})
      *one = Tensor::zeros({rows}, DType::f64);
  }

  // The loss of row i with that log-probability; returns its derivative.
  double weigh(int64_t i, double logp, const float* known, const PolicyRules& rules) const {
    const PolicyLoss made =
        policy_loss(logp, known[known::old_logp], known[known::advantage], rules.clip);
    const double d = logp - known[known::ref_logp], step = logp - known[known::old_logp];
    double value = made.loss, slope = made.derivative;
    if (rules.kl != 0) {
      value += rules.kl * kl_estimate(rules.kl_estimator, d);
      slope += rules.kl * kl_derivative(rules.kl_estimator, d);
    }
    loss.data<double>()[i] = value * known[known::factor];
    approx_kl.data<double>()[i] = 0.5 * step * step;
    clipped.data<double>()[i] = made.clipped || made.dual_clipped;
    ratio.data<double>()[i] = made.ratio;
    off_one.data<double>()[i] = made.ratio != 1;
    return slope * known[known::factor];
  }

  Tensor loss, approx_kl, clipped, ratio, off_one;
};

std::vector<Term> PolicyObjective::terms(const PolicyRules& rules) {
  std::vector<Term> made{{"policy_loss"}};
  if (rules.shared) made.push_back({"value_loss"});
  if (rules.entropy != 0) made.push_back({"entropy_bonus"});
  for (const char* name : {"approx_kl", "clipped", "ratio", "ratio_off"})
    made.push_back({name, Term::Over::places, false});
  if (rules.shared) made.push_back({"value_clipped", Term::Over::places, false});
  return made;
}

Var PolicyObjective::log_losses(const Var& output, const Pass& pass, const Tensor& row_weights,
                                const ops::RowExtras& extras) const {
  const Var x = ops::scale(predictor_.rows(output, pass), 1 / rules_.distribution.temperature);
  const Weight ban = ban_of(predictor_, rules_.distribution.banned);
  return ops::linear_cross_entropy(
      x, predictor_.head().weight(), ban, pass.batch->targets.reshape({-1}), row_weights,
      pass.batch->targets.dim(1), predictor_.vocab_shard(), pass.tp, extras);
}

std::function<void(int64_t, const Tensor&, const Tensor&)> PolicyObjective::weigher(
    const Rows& rows, const LossPass& pass) const {
  return [&](int64_t first, const Tensor& losses, const Tensor& weights) {
    const Batch& batch = *pass.batch;
    visit_float(losses.dtype(), [&](auto tag) {
      using A = Accumulator<typename decltype(tag)::type>;
      for (int64_t i = 0; i < losses.size(); ++i) {
        const float weight = batch.weights.data<float>()[first + i];
        // As it is remembered: in f32.
        const double logp = -static_cast<float>(losses.data<A>()[i]);
        const double slope =
            weight == 0
                ? 0
                : rows.weigh(first + i, logp,
                             batch.known.data<float>() + (first + i) * known::columns, rules_);
        weights.data<A>()[i] = static_cast<A>(-slope * weight * pass.loss_scale);
      }
    });
  };
}

Losses PolicyObjective::losses(const Var& output, const LossPass& pass) const {
  const Within here = Within::part("head");
  const Batch& batch = *pass.batch;
  const Rows rows(batch.weights.size());
  Parts parts(batch.weights, pass, output);
  ops::RowExtras extras{weigher(rows, pass)};
  if (rules_.entropy != 0) {
    extras.entropies = parts.zeros();
    extras.entropy_weights =
        row_weights_of(weighed_by_factor(batch), -rules_.entropy * pass.loss_scale, output.value());
  }
  const Tensor row_weights = parts.zeros();
  const Var logs = log_losses(output, pass, row_weights, extras);
  parts.learn(ops::stand_in(logs, parts.kept(rows.loss)), row_weights);
  ValueRows values;
  if (rules_.shared) {
    const Var found = values_->values(output, pass);
    values = value_rows(found.value(), batch, rules_.value);
    parts.learn(ops::with_slope(found, values.losses, values.slopes), parts.places());
  }
  if (rules_.entropy != 0) {
    const Tensor bonus = host_numbers(extras.entropies);
    for (int64_t i = 0; i < bonus.size(); ++i)
      bonus.data<double>()[i] *=
          -rules_.entropy * batch.known.data<float>()[i * known::columns + known::factor];
    parts.tell(bonus);
  }
  for (const Tensor& value : {rows.approx_kl, rows.clipped, rows.ratio, rows.off_one})
    parts.tell(value);
  if (rules_.shared) parts.tell(values.clipped);
  return parts.losses();
}

std::vector<Tensor> PolicyObjective::answers(const Var& output, const Pass& pass) const {
  const Batch& batch = *pass.batch;
  const int64_t rows = batch.weights.size(), numbers = PolicyObjective::numbers(rules_);
  ops::RowExtras extras;
  extras.entropies =
      Tensor::empty({rows}, gradient_dtype(output.value().dtype()), output.value().device());
  const Var logs = log_losses(output, pass, {}, extras);
  std::vector<Tensor> columns{host_numbers(logs.value()), host_numbers(extras.entropies)};
  for (double& one : columns[0].span<double>()) one = -one;
  if (rules_.shared) columns.push_back(host_numbers(values_->values(output, pass).value()));
  const Tensor made = Tensor::empty({batch.size(), batch.weights.dim(1), numbers}, DType::f32);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t n = 0; n < numbers; ++n)
      made.data<float>()[i * numbers + n] =
          static_cast<float>(columns[static_cast<size_t>(n)].data<double>()[i]);
  return {made};
}

Losses ValueObjective::losses(const Var& output, const LossPass& pass) const {
  const Within here = Within::part("head");
  const Batch& batch = *pass.batch;
  const Var scores = ops::reshape(scorer_.label_scores(output, pass), {batch.weights.size()});
  const ValueRows made = value_rows(scaled(scores.value(), rules_), batch, rules_);
  for (double& slope : made.slopes.span<double>()) slope /= rules_.deviation;
  Parts parts(batch.weights, pass, output);
  parts.learn(ops::with_slope(scores, made.losses, made.slopes), parts.places());
  parts.tell(made.clipped);
  return parts.losses();
}

std::vector<Tensor> ValueObjective::answers(const Var& output, const Pass& pass) const {
  const Tensor said = scorer_.label_scores(output, pass).value();
  return {scaled(said, rules_).to(DType::f32).reshape(said.shape())};
}

}  // namespace skein
