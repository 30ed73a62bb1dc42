// Invariants.
//
// Log-probabilities are made by one function, log_losses(), for what is told (answers) and for what
// is learnt (losses): by one op, of the same rows, with the same temperature and bans. So a policy
// that has not learnt since it answered has ratios of exactly 1, and guard_ratio() can insist on
// that.
//
// What a token costs, and the slope of that, the op makes on the device while the token's logits
// are at hand (kernels/policy.h); backward only passes it on. Beside the logits it needs `known`
// only.
//
// Terms come as terms() names them, each with a row for every place of the batch and with the
// batch's weights: a place that does not count is 0 in all. Rows that are only told weigh nothing
// in the gradient. Nor do those of the entropy bonus, whose gradient went into the logits already.
//
// The rows that kernels write here belong to the Losses that are returned, and to nobody else.
#include "skein/rlhf/policy/objective.h"

#include "skein/core/where.h"
#include "skein/ops/attention.h"
#include "skein/ops/math.h"

namespace skein::rlhf::policy {
namespace {

// Of a banned id: no softmax sees it, and times 0 it is still 0. f16 knows no larger one.
double never(DType dtype) { return dtype == DType::f16 ? -6e4 : -1e9; }

// Added to every row's logits; nothing where no id is banned.
WeightMemory ban_of(const Predictor& model, const std::vector<int64_t>& banned) {
  WeightMemory ban;
  ban.learns = false;
  if (banned.empty()) return ban;
  const Tensor& weight = model.head().value;
  const ops::VocabShard shard = model.vocab_shard();
  const Tensor scores = Tensor::zeros({weight.dim(0)}, DType::f64);
  for (int64_t id : banned)
    if (id >= shard.first_id && id < shard.first_id + shard.valid)
      scores.data<double>()[id - shard.first_id] = never(weight.dtype());
  ban.value = scores.to(weight.dtype()).to(weight.device());
  return ban;
}

Tensor host_numbers(const Tensor& of) { return of.to(Device{}).to(DType::f64); }

// The terms of an objective, put together: numbers of every place of the batch.
class Parts {
 public:
  Parts(const Tensor& weights, const LossPass& pass, const Var& output)
      : weights_(weights),
        place_weights_(row_weights_of(weights, pass.loss_scale, output.value())) {}

  // What each place weighs in the total.
  const Tensor& place_weights() const { return place_weights_; }
  Tensor blank() const {
    return Tensor::empty(place_weights_.shape(), place_weights_.dtype(), place_weights_.device());
  }
  void learn(const Var& rows) {
    rows_.push_back(rows);
    row_weights_.push_back(place_weights_);
  }
  void tell(const Tensor& rows) {
    rows_.push_back(Var(rows));
    row_weights_.push_back({});
  }

  Losses losses() const {
    const int64_t count = rows_.size(), size = place_weights_.size();
    const Tensor all =
        Tensor::zeros({count * size}, place_weights_.dtype(), place_weights_.device());
    for (int64_t i = 0; i < count; ++i)
      if (const Tensor& own = row_weights_[i]; own.defined())
        all.flat(i * size, size).copy_from(own);
    return {ops::end_to_end(rows_), all, std::vector<Tensor>(rows_.size(), weights_)};
  }

 private:
  Tensor weights_, place_weights_;
  std::vector<Var> rows_;
  std::vector<Tensor> row_weights_;  // undefined: 0
};

// The weights of places times the factor of their aggregation.
Tensor weighed_by_factor(const data::Batch& batch) {
  const Tensor made = batch.weights.clone();
  for (int64_t i = 0; i < made.size(); ++i)
    made.data<float>()[i] *= batch.known.data<float>()[i * known::columns + known::factor];
  return made;
}

// [M,known::columns], where the losses are.
Tensor known_at(const data::Batch& batch, const Var& output) {
  return batch.known.reshape({-1, known::columns}).to(output.value().device());
}

kernels::PolicyTerms terms_of(const PolicyRules& rules, double scale) {
  kernels::PolicyTerms made{scale, rules.clip.low, rules.clip.high, rules.clip.dual};
  SKEIN_CHECK(rules.kl == 0 || rules.kl_estimator == KlEstimator::k2 ||
              rules.kl_estimator == KlEstimator::k3);
  (rules.kl_estimator == KlEstimator::k2 ? made.k2 : made.k3) = rules.kl;
  made.entropy = rules.entropy;
  return made;
}

kernels::ValueTerms terms_of(const ValueRules& rules) {
  return {rules.coefficient, rules.clip, rules.mean, rules.deviation};
}

}  // namespace

std::vector<train::Term> PolicyObjective::terms(const PolicyRules& rules) {
  std::vector<train::Term> made{{"policy_loss"}};
  if (rules.shared) made.push_back({"value_loss"});
  if (rules.entropy != 0) made.push_back({"entropy_bonus"});
  for (const char* name : {"approx_kl", "clipped", "ratio", "ratio_off"})
    made.push_back({name, train::Term::Over::places, false});
  if (rules.shared) made.push_back({"value_clipped", train::Term::Over::places, false});
  return made;
}

Var PolicyObjective::log_losses(const Var& output, const Pass& pass, const Tensor& row_weights,
                                const ops::RowExtras& extras, Out entropies) const {
  const Var x = ops::scale(predictor_.rows(output, pass), 1 / rules_.distribution.temperature);
  const WeightMemory ban = ban_of(predictor_, rules_.distribution.banned);
  return ops::linear_cross_entropy(
      x, {predictor_.head().weight(), ban, predictor_.vocab_shard(), pass.tp},
      pass.batch->targets.reshape({-1}), row_weights, pass.batch->targets.dim(1), extras,
      entropies);
}

Losses PolicyObjective::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const data::Batch& batch = *pass.batch;
  const bool pays = rules_.entropy != 0;
  const Tensor known = known_at(batch, output);
  Parts parts(batch.weights, pass, output);
  const kernels::PolicyOuts outs{Out(parts.blank()), Out(parts.blank()),
                                 Out(parts.blank()), Out(parts.blank()),
                                 Out(parts.blank()), pays ? Out(parts.blank()) : Out()};
  ops::RowExtras extras;
  extras.policy = ops::PolicyLoss{terms_of(rules_, pass.loss_scale), known, outs};
  Tensor entropies;
  if (pays) {
    entropies = parts.blank();
    extras.entropy_weights =
        row_weights_of(weighed_by_factor(batch), -rules_.entropy * pass.loss_scale, output.value());
  }
  parts.learn(log_losses(output, pass, parts.place_weights(), extras, Out(entropies)));
  ops::ValueLosses values;
  if (rules_.shared) {
    values = ops::value_losses(values_->values(output, pass), terms_of(rules_.value), known);
    parts.learn(values.losses);
  }
  // Its gradient went into the logits with the entropies' weights.
  if (pays) parts.tell(*outs.bonus);
  for (const Out& told : {outs.approx_kl, outs.clipped, outs.ratio, outs.ratio_off})
    parts.tell(*told);
  if (rules_.shared) parts.tell(values.clipped);
  return parts.losses();
}

std::vector<Tensor> PolicyObjective::answers(const Var& output, const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  const int64_t rows = batch.weights.size(), numbers = PolicyObjective::numbers(rules_);
  const Tensor entropies =
      Tensor::empty({rows}, gradient_dtype(output.value().dtype()), output.value().device());
  const Var logs = log_losses(output, pass, {}, {}, Out(entropies));
  std::vector<Tensor> columns{host_numbers(logs.value()), host_numbers(entropies)};
  for (double& one : columns[0].span<double>()) one = -one;
  if (rules_.shared) columns.push_back(host_numbers(values_->values(output, pass).value()));
  const Tensor made = Tensor::empty({batch.size(), batch.weights.dim(1), numbers}, DType::f32);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t n = 0; n < numbers; ++n)
      made.data<float>()[i * numbers + n] = columns[n].data<double>()[i];
  return {made};
}

Losses ValueObjective::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const data::Batch& batch = *pass.batch;
  const Var scores = ops::reshape(scorer_.label_scores(output, pass), {batch.weights.size()});
  const ops::ValueLosses values =
      ops::value_losses(scores, terms_of(rules_), known_at(batch, output));
  Parts parts(batch.weights, pass, output);
  parts.learn(values.losses);
  parts.tell(values.clipped);
  return parts.losses();
}

std::vector<Tensor> ValueObjective::answers(const Var& output, const Pass& pass) const {
  const Tensor said = scorer_.label_scores(output, pass).value(),
               values = host_numbers(said).clone();
  for (double& one : values.span<double>()) one = (one - rules_.mean) / rules_.deviation;
  return {values.to(DType::f32)};
}

}  // namespace skein::rlhf::policy
