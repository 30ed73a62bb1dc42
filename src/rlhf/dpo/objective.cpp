#include "skein/rlhf/dpo/objective.h"

#include "skein/core/error.h"
#include "skein/core/where.h"

namespace skein::rlhf::dpo {

// Of a micro-batch, in f64 on the host.
struct DpoObjective::Judgement {
  Tensor terms;   // [terms * B]
  Tensor slopes;  // [B*P], of a sample's loss by the log-probability of each token
};

// Sums over the tokens of one of a sample's answers.
struct DpoObjective::Answer {
  double logp = 0, log_ratio = 0, tokens = 0;
};

struct DpoObjective::Verdict {
  std::vector<double> terms;
  double slopes[2] = {0, 0};  // of the loss by a token's log-probability, of either answer
};

DpoObjective::DpoObjective(const Predictor& predictor, const DpoRules& rules, const KtoPoint* point)
    : predictor_(predictor), rules_(rules), point_(point) {
  SKEIN_CHECK(rules.loss.kind != DpoKind::kto || (point != nullptr && rules.sft == 0));
}

std::string DpoObjective::loss_term(const DpoRules& rules) {
  return std::string(name_of(rules.loss.kind)) + "_loss";
}

std::vector<train::Term> DpoObjective::terms(const DpoRules& rules) {
  std::vector<train::Term> made{{loss_term(rules), train::Term::Over::samples}};
  if (rules.sft != 0) made.push_back({"sft_loss", train::Term::Over::samples});
  for (const char* name : {"reward_accuracy", "reward_margin", "chosen_reward", "rejected_reward",
                           "chosen_logp", "rejected_logp"})
    made.push_back({name, train::Term::Over::samples, false});
  if (rules.loss.kind == DpoKind::kto)
    made.push_back({"reference_point", train::Term::Over::samples, false});
  return made;
}

DpoObjective::Verdict DpoObjective::pair_verdict(const Answer* answers) const {
  const Answer &chosen = answers[0], &rejected = answers[1];
  const bool means = means_of_tokens(rules_.loss);
  const auto counts = [&](const Answer& one) {
    const double sum = has_reference(rules_.loss.kind) ? one.log_ratio : one.logp;
    return means ? sum / one.tokens : sum;
  };
  const DpoLoss found = pair_loss({counts(chosen), counts(rejected), 0, 0}, rules_.loss);
  const double margin = found.chosen_reward - found.rejected_reward;
  const double sft = rules_.sft / chosen.tokens;
  Verdict made{{found.loss}, {found.derivative, -found.derivative}};
  if (means) made.slopes[0] /= chosen.tokens, made.slopes[1] /= rejected.tokens;
  made.slopes[0] -= sft;
  if (rules_.sft != 0) made.terms.push_back(-sft * chosen.logp);
  made.terms.insert(made.terms.end(), {margin > 0 ? 1.0 : 0.0, margin, found.chosen_reward,
                                       found.rejected_reward, chosen.logp, rejected.logp});
  return made;
}

// Sums over all answers are to be means over those of a kind.
DpoObjective::Verdict DpoObjective::single_verdict(const Answer* answers) const {
  const bool desirable = answers[0].tokens > 0;
  const Answer& own = desirable ? answers[0] : answers[1];
  const KtoLoss found = kto_loss(own.log_ratio, desirable, point_->value, rules_.loss);
  const double gain = found.reward - rules_.loss.beta * point_->value;
  const double share = desirable ? point_->desirable : 1 - point_->desirable;
  const double reward = found.reward / share, logp = own.logp / share;
  const auto of = [](bool here, double value) { return here ? value : 0.0; };
  return {{found.loss, (desirable ? gain > 0 : gain < 0) ? 1.0 : 0.0, desirable ? reward : -reward,
           of(desirable, reward), of(!desirable, reward), of(desirable, logp), of(!desirable, logp),
           point_->value},
          {found.derivative, found.derivative}};
}

Var DpoObjective::log_losses(const Var& x, const Tensor& row_weights, const Pass& pass) const {
  const Tensor& targets = pass.batch->targets;
  const ops::VocabHead head{predictor_.head().weight(), {}, predictor_.vocab_shard(), pass.tp};
  return ops::linear_cross_entropy(x, head, targets.reshape({-1}), row_weights, targets.dim(1));
}

Tensor DpoObjective::token_losses(const Var& x, const Pass& pass) const {
  const NoGrad no_grad;
  return log_losses(x, {}, pass).value();
}

void DpoObjective::judge_sample(int64_t sample, const Tensor& losses, const data::Batch& batch,
                                const Judgement& made) const {
  const int64_t places = batch.weights.dim(1), first = sample * places;
  const float *weights = batch.weights.data<float>(), *known = batch.known.data<float>();
  const auto is_rejected = [&](int64_t i) {
    return known[i * known_pair::columns + known_pair::side] > 0;
  };
  Answer answers[2];
  for (int64_t i = first; i < first + places; ++i) {
    if (weights[i] == 0) continue;
    const double own = -losses.data<double>()[i];
    Answer& answer = answers[is_rejected(i)];
    answer.logp += own;
    // Token by token, so that a policy that is still the reference has differences of exactly 0.
    answer.log_ratio += own - known[i * known_pair::columns + known_pair::ref_logp];
    answer.tokens += 1;
  }
  const bool pair = rules_.loss.kind != DpoKind::kto;
  const Verdict found = pair ? pair_verdict(answers) : single_verdict(answers);
  for (int64_t i = first; i < first + places; ++i)
    if (weights[i] != 0) made.slopes.data<double>()[i] = found.slopes[is_rejected(i)];
  for (size_t term = 0; term < found.terms.size(); ++term)
    made.terms.data<double>()[term * batch.size() + sample] = found.terms[term];
}

DpoObjective::Judgement DpoObjective::judged(const Tensor& losses, const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  const auto terms = std::ssize(DpoObjective::terms(rules_));
  const Judgement made{Tensor::zeros({terms * batch.size()}, DType::f64),
                       Tensor::zeros({batch.weights.size()}, DType::f64)};
  const Tensor here = losses.to(Device{}).to(DType::f64);
  for (int64_t sample = 0; sample < batch.size(); ++sample) judge_sample(sample, here, batch, made);
  return made;
}

Losses DpoObjective::losses(const Var& output, const LossPass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const int64_t samples = pass.batch->size();
  const Var x = predictor_.rows(output, pass);
  const Tensor losses = token_losses(x, pass);
  const Judgement found = judged(losses, pass);
  const auto kept = [&](const Tensor& numbers) {
    return numbers.to(losses.dtype()).to(losses.device());
  };
  const std::vector<train::Term> terms = DpoObjective::terms(rules_);
  const Tensor ones = Tensor::from(std::vector<float>(samples, 1.0f), {samples, 1});
  const Tensor weights = Tensor::zeros(found.terms.shape(), DType::f64);
  for (size_t term = 0; term < terms.size(); ++term)
    if (terms[term].learnt)
      std::fill_n(weights.data<double>() + term * samples, samples, pass.sample_scale);
  const std::vector<Tensor> of_terms(terms.size(), ones);
  if (!recording()) return {Var(kept(found.terms)), kept(weights), of_terms};
  // Rows are losses, minus log-probabilities.
  for (double& slope : found.slopes.span<double>()) slope *= -pass.sample_scale;
  const Tensor row_weights = kept(found.slopes);
  return {ops::stand_in(log_losses(x, row_weights, pass), kept(found.terms), row_weights),
          kept(weights), of_terms};
}

std::vector<Tensor> DpoObjective::answers(const Var& output, const Pass& pass) const {
  const Tensor made =
      token_losses(predictor_.rows(output, pass), pass).to(Device{}).to(DType::f32).clone();
  for (float& one : made.span<float>()) one = -one;
  return {made.reshape({pass.batch->size(), pass.batch->weights.dim(1), 1})};
}

}  // namespace skein::rlhf::dpo
