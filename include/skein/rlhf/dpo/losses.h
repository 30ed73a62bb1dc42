// Losses of answers that were judged, by log-probabilities under the policy and a frozen reference,
// with their derivatives, in f64. The log-probability of an answer is the sum over its tokens, its
// end included.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/core/values.h"

namespace skein::rlhf::dpo {

enum class DpoKind { dpo, ipo, simpo, kto };

struct DpoConfig {
  double beta = 0.1;
  double label_smoothing = 0;  // dpo: share of pairs held to be labelled the wrong way round
  DpoKind kind = DpoKind::dpo;
  bool token_mean = false;  // ipo: means over the tokens of an answer count, not sums
  double gamma = 1;         // simpo: the margin that is aimed at
  double desirable_weight = 1, undesirable_weight = 1;  // kto: lambda_D, lambda_U
};

constexpr double kSimpoBeta = 2;

// "dpo", "ipo", "simpo", "kto".
const char* name_of(DpoKind kind);
// Binds the fields as dpo.loss, dpo.beta, dpo.label_smoothing, dpo.token_mean, dpo.gamma,
// dpo.desirable_weight and dpo.undesirable_weight.
void bind(Options& options, DpoConfig& config);
// Of options that bind() has bound `config` to and that were read: gives dpo.beta its value for
// simpo where it was not given. A usage error for an option that was given at another than its
// usual value though dpo.loss does not read it.
void settle(Options& options, const DpoConfig& config);
// Usage errors with the value: beta above 0, label_smoothing in [0, 0.5), gamma at least 0, weights
// above 0.
void check(const DpoConfig& config);
// The numbers that config.kind reads, by the names of their options without "dpo.".
NamedValues numbers_of(const DpoConfig& config);

// Whether a pair's log-probabilities count as means over the tokens of each answer.
inline bool means_of_tokens(const DpoConfig& config) {
  return config.kind == DpoKind::simpo || (config.kind == DpoKind::ipo && config.token_mean);
}
inline bool has_reference(DpoKind kind) { return kind != DpoKind::simpo; }

// Log-probabilities of both answers under the policy and under the reference: sums, or where
// means_of_tokens() means, over their tokens.
struct PairLogp {
  double chosen = 0, rejected = 0;
  double ref_chosen = 0, ref_rejected = 0;
};

struct DpoLoss {
  double loss = 0;
  double derivative = 0;  // by `chosen`; that by `rejected` is its negative
  // beta (log pi - log pi_0): what the policy holds the answers to be worth
  double chosen_reward = 0, rejected_reward = 0;
};

// With h = chosen_reward - rejected_reward and s = label_smoothing: -(1 - s) log sigmoid(h) - s log
// sigmoid(-h) (Rafailov et al. 2023; Mitchell 2023 for the smoothing). ln 2 where the policy is the
// reference.
DpoLoss dpo_loss(const PairLogp& pair, const DpoConfig& config);

// With h = (chosen - ref_chosen) - (rejected - ref_rejected): (h - 1 / (2 beta))^2 (Azar et al.
// 2023, IPO; beta is their tau). (1 / (2 beta))^2 where the policy is the reference.
DpoLoss ipo_loss(const PairLogp& pair, const DpoConfig& config);

// -log sigmoid(beta (chosen - rejected) - gamma), with means over tokens (Meng et al. 2024, SimPO).
// There is no reference: rewards are beta log pi, and what the pair says of a reference plays no
// part.
DpoLoss simpo_loss(const PairLogp& pair, const DpoConfig& config);

// That of config.kind, which is not kto.
DpoLoss pair_loss(const PairLogp& pair, const DpoConfig& config);

struct KtoLoss {
  double loss = 0;
  double derivative = 0;  // by the answer's log-probability under the policy
  double reward = 0;      // beta times the log-ratio
};

// Of one answer with log_ratio = log pi - log pi_0 (Ethayarajh et al. 2024, KTO). With r = beta
// log_ratio, k = beta reference_point:
//   desirable: desirable_weight (1 - sigmoid(r - k));  undesirable: undesirable_weight (1 -
//   sigmoid(k - r)).
// reference_point: z0, an estimate of KL(pi, pi_0) in nats, at least 0, through which no gradient
// goes. Half the weight where the policy is the reference.
KtoLoss kto_loss(double log_ratio, bool desirable, double reference_point, const DpoConfig& config);

}  // namespace skein::rlhf::dpo
