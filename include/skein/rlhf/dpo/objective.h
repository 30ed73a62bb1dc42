// What a policy learns from judged answers without sampling any: direct preference optimisation and
// its relatives (rlhf/dpo/losses.h), for batches of DpoSamples. Log-probabilities are at
// temperature 1.
#pragma once

#include <string>
#include <vector>

#include "skein/models/terms.h"
#include "skein/rlhf/dpo/samples.h"
#include "skein/train/task.h"

namespace skein::rlhf::dpo {

struct DpoRules {
  DpoConfig loss;
  double sft = 0;  // coefficient of the mean cross entropy of the chosen answer's tokens, added to
                   // the loss; not with kto
};

// Of the answers that are learnt or judged together, for kto.
struct KtoPoint {
  double value = 0;        // z0, the reference point: see kto_loss
  double desirable = 0.5;  // their share that is desirable
};

class DpoObjective : public Objective {
 public:
  // point: outlives the objective and holds what is true when losses are made; wanted by kto alone.
  DpoObjective(const Predictor& predictor, const DpoRules& rules, const KtoPoint* point = nullptr);
  // Of each sample, as terms() names them. An answer's loss hangs on all its tokens, so they go
  // through the head twice where gradients are made: first for the sums, then with what each row
  // weighs.
  Losses losses(const Var& output, const LossPass& pass) const override;
  // Log-probabilities of the tokens, [B,P,1] f32.
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

  // The loss, as loss_term() names it, with rules.sft sft_loss; then what is told only: whether the
  // chosen answer has the higher reward (equal ones do not count), the margin between the rewards,
  // both rewards, and both log-probabilities. kto: whether a reward lies on its answer's side of
  // the reference point, rewards and log-probabilities as means over the answers of either kind, 0
  // where there is none; and the reference point, in nats.
  static std::vector<train::Term> terms(const DpoRules& rules);
  // "ipo_loss".
  static std::string loss_term(const DpoRules& rules);

 private:
  struct Judgement;
  struct Answer;
  struct Verdict;
  Var log_losses(const Var& x, const Tensor& row_weights, const Pass& pass) const;
  // Without gradients.
  Tensor token_losses(const Var& x, const Pass& pass) const;
  Judgement judged(const Tensor& losses, const Pass& pass) const;
  void judge_sample(int64_t sample, const Tensor& losses, const data::Batch& batch,
                    const Judgement& made) const;
  // Of the chosen and the rejected answer of a sample.
  Verdict pair_verdict(const Answer* answers) const;
  Verdict single_verdict(const Answer* answers) const;

  const Predictor& predictor_;
  DpoRules rules_;
  const KtoPoint* point_;
};

}  // namespace skein::rlhf::dpo
