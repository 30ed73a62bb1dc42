// What tuning by a reward should reach, exactly, where all responses can be enumerated. For a
// prompt x, with the reference policy p and a policy q, all sums over all responses y:
//
//   J(q)   = sum q (r - beta log(q / p))           what is maximised
//   q*     = p exp(r / beta) / Z                   the policy that maximises it
//   J*     = beta log Z = J(q*)                    its value
//   J* - J = beta KL(q, q*) >= 0                   so nothing scores above J*
//   V*(s)  = beta log sum p(y | s) exp(r / beta)   of a beginning s: what a critic should say
//                                                  there; V* of nothing said is J*
//   q*(a | s) = p(a | s) exp((V*(sa) - V*(s)) / beta)
//
// after Ziegler et al., "Fine-tuning language models from human preferences" (2019) and Korbak et
// al., "RL with KL penalties is better viewed as Bayesian inference" (2022). Under q* the shaped
// return r - beta log(q* / p) is J* for every response: its spread is 0.
//
// Rewards and log-probabilities are in the order of ResponseTree; natural logarithms, sums in f64.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/rlhf/oracle/language.h"

namespace skein::rlhf::oracle {

// [prompts][responses]. -infinity: never.
using ResponseLogs = std::vector<std::vector<double>>;

// log sum exp. -infinity for nothing and for -infinities alone.
double log_sum(std::span<const double> logs);

// Of the chain itself, after each prompt.
ResponseLogs chain_logs(const OracleLanguage& language);

// The log-probabilities of responses from those of tokens: next[s * (k + 1) + a] is that of symbol
// a after the beginning s, a = k being the end. next: of all beginnings, [prefixes][k + 1].
std::vector<double> response_logs(const ResponseTree& responses, std::span<const double> next);

// log q* of each response.
std::vector<double> best_logs(std::span<const double> rewards, double beta,
                              std::span<const double> reference);

// All are means over the prompts.
struct OracleNumbers {
  double best = 0;             // J*
  double reference = 0;        // J(p) = the mean reward under p
  double value = 0;            // J(q)
  double reward = 0;           // mean under q
  double best_reward = 0;      // mean under q*
  double divergence = 0;       // KL(q, p)
  double best_divergence = 0;  // KL(q*, p)
  double distance = 0;         // KL(q, q*)
  // standard deviation under q of the shaped return, about each prompt's own mean
  double spread = 0;
  // what no q with the sums given can score above, rounding included: J* where they are 1
  double ceiling = 0;
  double mass_error = 0;  // the largest distance from 1 of a sum of q

  // (J(q) - J(p)) / (J* - J(p)): 1 at the optimum, 0 where nothing was learnt.
  double closed() const { return (value - reference) / (best - reference); }
  bool above_best() const { return !(value <= ceiling); }
};

// How far the probabilities of all responses to a prompt may sum from 1. What is in f32 and takes
// part in the softmax sums to 1 within 1e-5; a token that the policy may say though it is in no
// response, such as a separator, is seen from 1e-4 on.
constexpr double kMassTolerance = 1e-4;

// A usage error naming the prompt, the sum and `who` where they do not.
void check_mass(const OracleLanguage& language, const ResponseLogs& logs, const std::string& who,
                double tolerance = kMassTolerance);

// Both policies as check_mass passes them. q may be of total mass m instead of 1; its J is at most
// m (J* - beta log m) for each prompt, which is the ceiling, with 1e-9 of the size of what is
// summed on top for rounding.
OracleNumbers oracle_numbers(const OracleLanguage& language, const OracleReward& reward,
                             double beta, const ResponseLogs& reference,
                             const ResponseLogs& policy);

// Whether a mean of n shaped returns, as training logs it, lies above J* by more than chance
// allows: 6 standard errors (a false alarm in 10^9 at normal means) and 1e-4 of the size of J* for
// numbers in f32. deviation: of one return.
bool sampled_above_best(double mean, double deviation, int64_t n, double best);

}  // namespace skein::rlhf::oracle
