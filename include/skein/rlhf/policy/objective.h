// What a policy learns from the answers it has sampled, and how likely it holds their tokens.
// Log-probabilities are made by the kernels of training wherever they are asked for, so that a
// policy which has not learnt since gives the same bits: a ratio of exactly 1.
#pragma once

#include <vector>

#include "skein/kernels/policy.h"
#include "skein/models/terms.h"
#include "skein/rlhf/policy/losses.h"
#include "skein/train/task.h"

namespace skein::rlhf::policy {

// Of Batch::known: kernels/policy.h lists them. factor: see Aggregation.
namespace known = kernels::known;

// The distribution that answers are sampled from, hence the one whose log-probabilities count:
// softmax(logits / temperature) over ids that are not banned.
struct PolicyDistribution {
  double temperature = 1;
  std::vector<int64_t> banned{};
};

struct ValueRules {
  double coefficient = 1;
  double clip = 0.2;  // 0: not clipped
  // Of a critic of its own: a value is (what the model says - mean) / deviation.
  double mean = 0, deviation = 1;
};

struct PolicyRules {
  PolicyDistribution distribution = {};
  PolicyClip clip = {};
  double entropy = 0;  // coefficient of the bonus
  KlEstimator kl_estimator = KlEstimator::k2;
  double kl = 0;        // coefficient of the KL to the reference as a loss, by k2 or k3
  bool shared = false;  // the policy's model has a value head that learns with it
  ValueRules value = {};
};

class PolicyObjective : public Objective {
 public:
  // values: of rules.shared, else null
  PolicyObjective(const Predictor& predictor, const ValueHead* values, const PolicyRules& rules)
      : predictor_(predictor), values_(values), rules_(rules) {}
  // Of each place of the batch, which are the tokens of answers: the clipped loss with the KL's
  // (kernels/policy.h); that of the value head; minus the bonus for entropy; and what is told only.
  // terms() names them.
  Losses losses(const Var& output, const LossPass& pass) const override;
  // [B,P,2] or with a value head [B,P,3] f32: log-probability, entropy of its distribution, value.
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

  static std::vector<train::Term> terms(const PolicyRules& rules);
  static int64_t numbers(const PolicyRules& rules) { return rules.shared ? 3 : 2; }

 private:
  Var log_losses(const Var& output, const Pass& pass, const Tensor& row_weights,
                 const ops::RowExtras& extras, Out entropies) const;

  const Predictor& predictor_;
  const ValueHead* values_;
  PolicyRules rules_;
};

// A critic of its own: a model with one number a token.
class ValueObjective : public Objective {
 public:
  ValueObjective(const Scorer& scorer, const ValueRules& rules) : scorer_(scorer), rules_(rules) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  // The values, [B,P,1] f32.
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

  static std::vector<train::Term> terms() {
    return {{"value_loss"}, {"value_clipped", train::Term::Over::places, false}};
  }

 private:
  const Scorer& scorer_;
  ValueRules rules_;
};

}  // namespace skein::rlhf::policy
