#include "skein/rlhf/dpo_objective.h"

#include "skein/core/where.h"

namespace skein {

// Of a micro-batch, in f64 on the host.
struct DpoObjective::Judgement {
  Tensor terms;   // [terms * B]
  Tensor slopes;  // [B*P], of a sample's loss by the log-probability of each token
};

std::vector<Term> DpoObjective::terms(const DpoRules& rules) {
  std::vector<Term> made{{"dpo_loss", Term::Over::samples}};
  if (rules.sft != 0) made.push_back({"sft_loss", Term::Over::samples});
  for (const char* name : {"reward_accuracy", "reward_margin", "chosen_reward", "rejected_reward", "chosen_logp", "rejected_logp"})
    made.push_back({name, Term::Over::samples, false});
  return made;
}

Var DpoObjective::log_losses(const Var& x, const Tensor& row_weights, const Pass& pass) const {
  const Tensor& targets = pass.batch->targets;
  return ops::linear_cross_entropy(x, model_.head().weight(), {}, targets.reshape({-1}), row_weights, targets.dim(1), model_.vocab_shard(), pass.tp);
}

Tensor DpoObjective::token_losses(const Var& x, const Pass& pass) const {
  const NoGrad no_grad;
  return log_losses(x, {}, pass).value();
}

void DpoObjective::judge_sample(int64_t sample, const Tensor& losses, const Batch& batch, const Judgement& made) const {
  const int64_t places = batch.weights.dim(1), first = sample * places;
  const float *weights = batch.weights.data<float>(), *known = batch.known.data<float>();
  const auto is_rejected = [&](int64_t i) { return known[i * known_pair::columns + known_pair::side] > 0; };
  double logp[2] = {0, 0}, reward[2] = {0, 0}, tokens[2] = {0, 0};
  for (int64_t i = first; i < first + places; ++i) {
    if (weights[i] == 0) continue;
    const double own = -losses.data<double>()[i];
    logp[is_rejected(i)] += own;
    // Token by token, so that a policy that is still the reference has differences of exactly 0.
    reward[is_rejected(i)] += own - known[i * known_pair::columns + known_pair::ref_logp];
    tokens[is_rejected(i)] += 1;
  }
  const DpoLoss found = dpo_loss({reward[0], reward[1], 0, 0}, rules_.loss);
  const double per_token = rules_.sft / tokens[0];
  for (int64_t i = first; i < first + places; ++i)
    if (weights[i] != 0) made.slopes.data<double>()[i] = is_rejected(i) ? -found.derivative : found.derivative - per_token;
  std::vector<double> values{found.loss};
  if (rules_.sft != 0) values.push_back(-per_token * logp[0]);
  values.insert(values.end(), {found.chosen_reward > found.rejected_reward ? 1.0 : 0.0, found.chosen_reward - found.rejected_reward,
                               found.chosen_reward, found.rejected_reward, logp[0], logp[1]});
  for (size_t term = 0; term < values.size(); ++term) made.terms.data<double>()[static_cast<int64_t>(term) * batch.size() + sample] = values[term];
}

DpoObjective::Judgement DpoObjective::judged(const Tensor& losses, const Pass& pass) const {
  const Batch& batch = *pass.batch;
  const auto terms = static_cast<int64_t>(DpoObjective::terms(rules_).size());
  const Judgement made{Tensor::zeros({terms * batch.size()}, DType::f64), Tensor::zeros({batch.weights.size()}, DType::f64)};
  const Tensor here = losses.to(Device{}).to(DType::f64);
  for (int64_t sample = 0; sample < batch.size(); ++sample) judge_sample(sample, here, batch, made);
  return made;
}

Losses DpoObjective::losses(const Var& output, const Pass& pass) const {
  const Within here = Within::part("head");
  const int64_t samples = pass.batch->size();
  const Var x = model_.rows(output, pass);
  const Tensor losses = token_losses(x, pass);
  const Judgement found = judged(losses, pass);
  const auto kept = [&](const Tensor& numbers) { return numbers.to(losses.dtype()).to(losses.device()); };
  const std::vector<Term> terms = DpoObjective::terms(rules_);
  const Tensor ones = Tensor::from(std::vector<float>(static_cast<size_t>(samples), 1.0f), {samples, 1});
  const Tensor weights = Tensor::zeros(found.terms.shape(), DType::f64);
  for (size_t term = 0; term < terms.size(); ++term)
    if (terms[term].learnt) std::fill_n(weights.data<double>() + static_cast<int64_t>(term) * samples, samples, pass.sample_scale);
  const std::vector<Tensor> of_terms(terms.size(), ones);
  if (!recording()) return {Var(kept(found.terms)), kept(weights), of_terms};
  // Rows are losses, minus log-probabilities.
  for (double& slope : found.slopes.span<double>()) slope *= -pass.sample_scale;
  const Tensor row_weights = kept(found.slopes);
  return {ops::stand_in(log_losses(x, row_weights, pass), kept(found.terms), row_weights), kept(weights), of_terms};
}

std::vector<Tensor> DpoObjective::answers(const Var& output, const Pass& pass) const {
  const Tensor made = token_losses(model_.rows(output, pass), pass).to(Device{}).to(DType::f32).clone();
  for (float& one : made.span<float>()) one = -one;
  return {made.reshape({pass.batch->size(), pass.batch->weights.dim(1), 1})};
}

}  // namespace skein
