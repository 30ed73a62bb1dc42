// What a policy learns from pairs of answers without sampling any: direct preference optimisation (Rafailov et al. 2023), for batches of
// DpoSamples. The log-probability of an answer is the sum over its tokens, its end included, at temperature 1.
#pragma once

#include <vector>

#include "skein/models/gpt.h"
#include "skein/rlhf/dpo_samples.h"
#include "skein/rlhf/losses.h"
#include "skein/train/task.h"

namespace skein {

struct DpoRules {
  DpoConfig loss;
  double sft = 0;  // coefficient of the mean cross entropy of the chosen answer's tokens, added to the loss
};

class DpoObjective : public Objective {
 public:
  DpoObjective(const Gpt& last_piece, const DpoRules& rules) : model_(last_piece), rules_(rules) {}
  // Of each sample, as terms() names them. An answer's loss hangs on all its tokens, so they go through the head twice where gradients are
  // made: first for the sums, then with what each row weighs.
  Losses losses(const Var& output, const Pass& pass) const override;
  // Log-probabilities of the tokens, [B,P,1] f32.
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

  // dpo_loss, with rules.sft sft_loss; then what is told only: whether the chosen answer has the higher reward (equal ones do not count),
  // the margin between the rewards, both rewards, and both log-probabilities.
  static std::vector<Term> terms(const DpoRules& rules);

 private:
  struct Judgement;
  Var log_losses(const Var& x, const Tensor& row_weights, const Pass& pass) const;
  // Without gradients.
  Tensor token_losses(const Var& x, const Pass& pass) const;
  Judgement judged(const Tensor& losses, const Pass& pass) const;
  void judge_sample(int64_t sample, const Tensor& losses, const Batch& batch, const Judgement& made) const;

  const Gpt& model_;
  DpoRules rules_;
};

}  // namespace skein
