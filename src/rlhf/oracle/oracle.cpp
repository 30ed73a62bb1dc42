#include "skein/rlhf/oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "skein/core/error.h"

namespace skein::rlhf::oracle {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;

// p log(a / b) with p = exp(log_p); nothing where p is 0.
double weighed(double log_p, double log_a, double log_b) {
  return log_p == kNever ? 0 : std::exp(log_p) * (log_a - log_b);
}

double mean(std::span<const double> values, std::span<const double> logs) {
  double sum = 0;
  for (size_t i = 0; i < values.size(); ++i)
    sum += logs[i] == kNever ? 0 : std::exp(logs[i]) * values[i];
  return sum;
}

double divergence(std::span<const double> from, std::span<const double> to) {
  double sum = 0;
  for (size_t i = 0; i < from.size(); ++i) sum += weighed(from[i], from[i], to[i]);
  return sum;
}

// log of p exp(r / beta).
std::vector<double> tilted(std::span<const double> rewards, double beta,
                           std::span<const double> reference) {
  SKEIN_CHECK_EQ(rewards.size(), reference.size());
  std::vector<double> logs(reference.begin(), reference.end());
  for (size_t i = 0; i < logs.size(); ++i) logs[i] += rewards[i] / beta;
  return logs;
}

// Of one prompt.
struct Returns {
  double mean = 0, variance = 0, size = 0;  // size: of what is summed
};

Returns shaped_returns(const std::vector<double>& rewards, double beta,
                       const std::vector<double>& reference, const std::vector<double>& policy) {
  Returns made;
  double square = 0, mass = 0;
  for (size_t i = 0; i < rewards.size(); ++i) {
    if (policy[i] == kNever) continue;
    const double p = std::exp(policy[i]), shaped = rewards[i] - beta * (policy[i] - reference[i]);
    mass += p;
    made.mean += p * shaped;
    made.size += p * (std::abs(rewards[i]) + std::abs(shaped));
  }
  for (size_t i = 0; i < rewards.size(); ++i) {
    if (policy[i] == kNever) continue;
    const double away = rewards[i] - beta * (policy[i] - reference[i]) - made.mean / mass;
    square += std::exp(policy[i]) * away * away;
  }
  made.variance = square / mass;
  return made;
}

void add_prompt(OracleNumbers& numbers, double share, const std::vector<double>& rewards,
                double beta, const std::vector<double>& reference,
                const std::vector<double>& policy) {
  const std::vector<double> best = best_logs(rewards, beta, reference);
  const double value = beta * log_sum(tilted(rewards, beta, reference)), log_mass = log_sum(policy);
  const Returns returns = shaped_returns(rewards, beta, reference, policy);
  numbers.best += share * value;
  numbers.reference += share * mean(rewards, reference);
  numbers.value += share * returns.mean;
  numbers.reward += share * mean(rewards, policy);
  numbers.best_reward += share * mean(rewards, best);
  numbers.divergence += share * divergence(policy, reference);
  numbers.best_divergence += share * divergence(best, reference);
  numbers.distance += share * divergence(policy, best);
  numbers.spread += share * returns.variance;
  numbers.ceiling += share * (std::exp(log_mass) * (value - beta * log_mass) +
                              kRounding * (returns.size + std::abs(value)));
  numbers.mass_error = std::max(numbers.mass_error, std::abs(std::exp(log_mass) - 1));
}

}  // namespace

double log_sum(std::span<const double> logs) {
  const double largest = logs.empty() ? kNever : *std::max_element(logs.begin(), logs.end());
  if (largest == kNever) return kNever;
  double sum = 0;
  for (const double log : logs) sum += std::exp(log - largest);
  return largest + std::log(sum);
}

ResponseLogs chain_logs(const OracleLanguage& language) {
  const ResponseTree& responses = language.responses;
  const int64_t width = language.symbols() + 1;
  ResponseLogs logs;
  for (const OraclePrompt& prompt : language.prompts) {
    std::vector<double> next;
    next.reserve(responses.prefixes() * width);
    for (int64_t prefix = 0; prefix < responses.prefixes(); ++prefix) {
      const auto& row = prefix == 0 ? language.after(prompt)
                                    : language.transitions[responses.last_symbol(prefix)];
      for (const double p : row) next.push_back(std::log(p));
    }
    logs.push_back(response_logs(responses, next));
  }
  return logs;
}

std::vector<double> response_logs(const ResponseTree& responses, std::span<const double> next) {
  const int64_t alphabet = responses.alphabet(), width = alphabet + 1;
  SKEIN_CHECK_EQ(std::ssize(next), responses.prefixes() * width);
  std::vector<double> logs(responses.size());
  for (int64_t prefix = 0; prefix < responses.prefixes(); ++prefix) {
    const double before = logs[prefix];
    for (int64_t symbol = 0; symbol < alphabet; ++symbol)
      logs[responses.child(prefix, symbol)] = before + next[prefix * width + symbol];
    logs[prefix] = before + next[prefix * width + alphabet];
  }
  return logs;
}

std::vector<double> best_logs(std::span<const double> rewards, double beta,
                              std::span<const double> reference) {
  std::vector<double> logs = tilted(rewards, beta, reference);
  const double all = log_sum(logs);
  for (double& log : logs) log -= all;
  return logs;
}

void check_mass(const OracleLanguage& language, const ResponseLogs& logs, const std::string& who,
                double tolerance) {
  SKEIN_CHECK_EQ(logs.size(), language.prompts.size());
  for (size_t x = 0; x < logs.size(); ++x) {
    SKEIN_CHECK_EQ(std::ssize(logs[x]), language.responses.size());
    const double sum = std::exp(log_sum(logs[x]));
    require(std::abs(sum - 1) <= tolerance,
            "{}: the probabilities of {} of all {} responses to the prompt '{}' sum to {:.9g}, not "
            "1 within {}; is a token that is in no response, such as {}, not forbidden?",
            language.origin, who, language.responses.size(),
            language.text_of(language.prompts[x].symbols), sum, tolerance, language.separator);
  }
}

OracleNumbers oracle_numbers(const OracleLanguage& language, const OracleReward& reward,
                             double beta, const ResponseLogs& reference,
                             const ResponseLogs& policy) {
  SKEIN_CHECK_EQ(reference.size(), language.prompts.size());
  SKEIN_CHECK_EQ(policy.size(), language.prompts.size());
  OracleNumbers numbers;
  for (size_t x = 0; x < policy.size(); ++x) {
    SKEIN_CHECK_EQ(policy[x].size(), reward.rewards.size());
    add_prompt(numbers, language.prompts[x].probability, reward.rewards, beta, reference[x],
               policy[x]);
  }
  numbers.spread = std::sqrt(numbers.spread);
  return numbers;
}

bool sampled_above_best(double mean, double deviation, int64_t n, double best) {
  SKEIN_CHECK(n > 0);
  return !(mean - best <= 6 * deviation / std::sqrt(n) + 1e-4 * (1 + std::abs(best)));
}

}  // namespace skein::rlhf::oracle
