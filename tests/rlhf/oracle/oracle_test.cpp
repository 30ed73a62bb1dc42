#include "skein/rlhf/oracle/oracle.h"

#include <limits>
#include <numeric>

#include "skein/rlhf/oracle/run.h"

#include "rlhf/oracle_policies.h"

namespace skein::rlhf::oracle {
namespace {

using namespace test;

constexpr double kNever = -std::numeric_limits<double>::infinity();

TEST(Oracle, ChainByBruteForce) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const ResponseLogs logs = chain_logs(language);
  for (const auto& [prompt, last] : std::map<size_t, char>{{0, 'A'}, {1, 'B'}}) {
    const Probabilities expected = small_responses(last, 3);
    ASSERT_EQ(expected.size(), logs[prompt].size());
    for (size_t y = 0; y < logs[prompt].size(); ++y)
      EXPECT_NEAR(std::exp(logs[prompt][y]),
                  expected.at(letters(language, static_cast<int64_t>(y))), 1e-15);
  }
}

// Z, J* and the rest of both prompts, summed over strings as the definitions say.
TEST(Oracle, NumbersByBruteForce) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const auto reward = [](const std::string& text) {
    return text.back() == '$' ? static_cast<double>(text.size() - 1) / 3 : -1.0;
  };
  const double beta = 0.5;
  const ResponseLogs policy = odd_policy(language);
  double best = 0, reference = 0, best_reward = 0, best_divergence = 0, value = 0, divergence = 0,
         distance = 0;
  for (const size_t x : {0, 1}) {
    const Probabilities chain = small_responses(x == 0 ? 'A' : 'B', 3);
    const double share = x == 0 ? 0.75 : 0.25;
    double z = 0;
    for (const auto& [text, p] : chain) z += p * std::exp(reward(text) / beta);
    best += share * beta * std::log(z);
    for (int64_t y = 0; y < language.responses.size(); ++y) {
      const std::string text = letters(language, y);
      const double p = chain.at(text), star = p * std::exp(reward(text) / beta) / z,
                   q = std::exp(policy[x][static_cast<size_t>(y)]);
      reference += share * p * reward(text);
      best_reward += share * star * reward(text);
      best_divergence += share * star * std::log(star / p);
      value += share * q * (reward(text) - beta * std::log(q / p));
      divergence += share * q * std::log(q / p);
      distance += share * q * std::log(q / star);
    }
  }
  const OracleNumbers numbers =
      oracle_numbers(language, language.rewards[0], beta, chain_logs(language), policy);
  EXPECT_NEAR(numbers.best, best, 1e-14);
  EXPECT_NEAR(numbers.reference, reference, 1e-14);
  EXPECT_NEAR(numbers.best_reward, best_reward, 1e-14);
  EXPECT_NEAR(numbers.best_divergence, best_divergence, 1e-14);
  EXPECT_NEAR(numbers.value, value, 1e-14);
  EXPECT_NEAR(numbers.divergence, divergence, 1e-14);
  EXPECT_NEAR(numbers.distance, distance, 1e-14);
  EXPECT_NEAR(numbers.best - numbers.value, beta * numbers.distance, 1e-14);
  EXPECT_LT(numbers.closed(), 0);
  EXPECT_FALSE(numbers.above_best());
}

// Two responses, by hand: p = (1/4, 3/4), r = (log 3, 0), beta 1: Z = 3/4 + 3/4, q* = (1/2, 1/2).
TEST(Oracle, OneCoinByHand) {
  const OracleLanguage language = parsed(
      "alphabet A\nend $\nseparator |\npad _\nfrom A $ 1/4 A 3/4\nprompt 1 A\nresponse 1\nreward "
      "table default=0\nbeta 1\nscore 1.09861228866810969 $\n");
  const std::vector<double>& rewards = language.rewards[0].rewards;
  const ResponseLogs chain = chain_logs(language);
  const std::vector<double> best = best_logs(rewards, 1, chain[0]);
  EXPECT_NEAR(std::exp(best[0]), 0.5, 1e-15);
  const OracleNumbers at_reference = oracle_numbers(language, language.rewards[0], 1, chain, chain);
  EXPECT_NEAR(at_reference.best, std::log(1.5), 1e-15);
  EXPECT_NEAR(at_reference.value, 0.25 * std::log(3), 1e-15);
  EXPECT_NEAR(at_reference.closed(), 0, 1e-15);
  EXPECT_NEAR(at_reference.divergence, 0, 1e-15);
  EXPECT_NEAR(at_reference.distance, 0.25 * std::log(0.5) + 0.75 * std::log(1.5), 1e-15);
  EXPECT_NEAR(at_reference.spread, std::sqrt(0.25 * 0.75) * std::log(3), 1e-15);
}

TEST(Oracle, OptimumIsReachedWithoutSpread) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const ResponseLogs chain = chain_logs(language);
  ResponseLogs best;
  for (const auto& logs : chain) best.push_back(best_logs(language.rewards[0].rewards, 0.5, logs));
  const OracleNumbers numbers = oracle_numbers(language, language.rewards[0], 0.5, chain, best);
  EXPECT_NEAR(numbers.closed(), 1, 1e-14);
  EXPECT_NEAR(numbers.distance, 0, 1e-14);
  EXPECT_LT(numbers.spread, 1e-14);
  EXPECT_NEAR(numbers.reward, numbers.best_reward, 1e-15);
  EXPECT_FALSE(numbers.above_best());
  check_mass(language, best, "q*", 1e-12);
}

// What q* does token by token, against V*: the mean over what can follow each beginning.
TEST(Oracle, TheBestPolicyFollowsTheTokenRule) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const ResponseTree& tree = language.responses;
  const std::vector<double>& rewards = language.rewards[0].rewards;
  const double beta = 0.5;
  const ResponseLogs chain = chain_logs(language);
  std::vector<double> values = rewards;  // of responses that were cut, V* is the reward
  const std::vector<double> reference = token_logs(tree, chain[0]),
                            best = token_logs(tree, best_logs(rewards, beta, chain[0]));
  for (int64_t s = 0; s < tree.prefixes(); ++s) {
    const std::string said =
        letters(language, s).substr(0, static_cast<size_t>(tree.symbols_in(s)));
    const Probabilities rest =
        small_responses(said.empty() ? 'A' : said.back(), 3 - static_cast<int>(said.size()));
    double z = 0;
    for (const auto& [text, p] : rest)
      z += p * std::exp((text.back() == '$' ? static_cast<double>(said.size() + text.size() - 1) / 3
                                            : -1.0) /
                        beta);
    values[static_cast<size_t>(s)] = beta * std::log(z);
  }
  EXPECT_NEAR(values[0],
              beta * std::log(std::inner_product(
                         rewards.begin(), rewards.end(), chain[0].begin(), 0.0, std::plus<>(),
                         [&](double r, double log_p) { return std::exp(log_p + r / beta); })),
              1e-14);
  for (int64_t s = 0; s < tree.prefixes(); ++s)
    for (int64_t a = 0; a <= tree.alphabet(); ++a) {
      const double next = a == tree.alphabet() ? rewards[static_cast<size_t>(s)]
                                               : values[static_cast<size_t>(tree.child(s, a))];
      const auto at = static_cast<size_t>(s * (tree.alphabet() + 1) + a);
      EXPECT_NEAR(best[at], reference[at] + (next - values[static_cast<size_t>(s)]) / beta, 1e-13)
          << letters(language, s) << " " << a;
    }
}

TEST(Oracle, TokensAndResponsesAreTwoViews) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const ResponseLogs policy = odd_policy(language);
  const std::vector<double> next = token_logs(language.responses, policy[0]),
                            again = response_logs(language.responses, next);
  for (size_t y = 0; y < again.size(); ++y) EXPECT_NEAR(again[y], policy[0][y], 1e-14);
  for (size_t s = 0; s < next.size(); s += 3)
    EXPECT_NEAR(log_sum(std::span(next).subspan(s, 3)), 0, 1e-14);
}

// Gradient ascent on J itself, over the logits of all tokens after all beginnings: it must land on
// q* and nowhere above.
TEST(Oracle, ExactAscentLandsOnTheOptimum) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const ResponseTree& tree = language.responses;
  const OracleReward& reward = language.rewards[0];
  const double beta = 0.5;
  const auto width = static_cast<size_t>(tree.alphabet()) + 1;
  ResponseLogs chain = chain_logs(language);
  ResponseLogs policy = chain;
  for (size_t x = 0; x < policy.size(); ++x) {
    std::vector<double> logits = token_logs(tree, chain[x]);
    for (int step = 0; step < 10'000; ++step) {
      std::vector<double> next = logits;
      for (size_t s = 0; s < next.size(); s += width) {
        const double sum = log_sum(std::span(next).subspan(s, width));
        for (size_t a = 0; a < width; ++a) next[s + a] -= sum;
      }
      policy[x] = response_logs(tree, next);
      // Mass and mean return behind each beginning; the chain rule through the softmax gives mass *
      // (return of the token - return).
      std::vector<double> mass(policy[x].size()), total(policy[x].size());
      for (size_t y = mass.size(); y-- > 0;) {
        const double p = std::exp(policy[x][y]),
                     shaped = reward.rewards[y] - beta * (policy[x][y] - chain[x][y]);
        mass[y] += p;
        total[y] += p * shaped;
        if (y == 0) continue;
        mass[static_cast<size_t>(tree.parent(static_cast<int64_t>(y)))] += mass[y];
        total[static_cast<size_t>(tree.parent(static_cast<int64_t>(y)))] += total[y];
      }
      for (size_t s = 0; s < static_cast<size_t>(tree.prefixes()); ++s)
        for (size_t a = 0; a < width; ++a) {
          const double p = mass[s] * std::exp(next[s * width + a]);
          const double after = a + 1 == width
                                   ? reward.rewards[s] - beta * (policy[x][s] - chain[x][s])
                                   : total[static_cast<size_t>(tree.child(
                                         static_cast<int64_t>(s), static_cast<int64_t>(a)))] /
                                         mass[static_cast<size_t>(tree.child(
                                             static_cast<int64_t>(s), static_cast<int64_t>(a)))];
          logits[s * width + a] += 4 * p * (after - total[s] / mass[s]);
        }
      if (step == 10) {
        const OracleNumbers early = oracle_numbers(language, reward, beta, chain, policy);
        EXPECT_GT(early.closed(), 0);
        EXPECT_LT(early.value, early.best);
      }
    }
  }
  const OracleNumbers numbers = oracle_numbers(language, reward, beta, chain, policy);
  EXPECT_NEAR(numbers.closed(), 1, 1e-9);
  EXPECT_LT(numbers.spread, 1e-3);
  EXPECT_FALSE(numbers.above_best());
  const std::vector<double> best = best_logs(reward.rewards, beta, chain[1]);
  for (size_t y = 0; y < best.size(); ++y)
    EXPECT_NEAR(std::exp(policy[1][y]), std::exp(best[y]), 1e-4);
}

TEST(Oracle, ResponsesThatNeverComeCountNothing) {
  const OracleLanguage language = parsed(
      "alphabet A B\nend $\nseparator |\npad _\nfrom A B 1\nfrom B $ 0.5 B 0.5\nprompt 1 "
      "A\nresponse 3\nreward length\nbeta 0.5\n");
  const ResponseLogs chain = chain_logs(language);
  EXPECT_EQ(chain[0][0], kNever);
  EXPECT_TRUE(std::isnan(token_logs(language.responses, chain[0])[1 * 3])) << "after A";
  const std::vector<double> best = best_logs(language.rewards[0].rewards, 0.5, chain[0]);
  EXPECT_EQ(best[0], kNever);
  const OracleNumbers numbers = oracle_numbers(language, language.rewards[0], 0.5, chain, {best});
  EXPECT_NEAR(numbers.closed(), 1, 1e-14);
  const OracleNumbers elsewhere =
      oracle_numbers(language, language.rewards[0], 0.5, chain, odd_policy(language));
  EXPECT_EQ(elsewhere.value, kNever);
  EXPECT_EQ(elsewhere.divergence, -kNever);
  EXPECT_FALSE(elsewhere.above_best());
}

TEST(Oracle, RewardsFarLargerThanBetaStayFinite) {
  const OracleLanguage language = parsed(
      "alphabet A\nend $\nseparator |\npad _\nfrom A $ 0.5 A 0.5\nprompt 1 A\nresponse 4\nreward "
      "length scale=1e6\nbeta 1e-6\n");
  const ResponseLogs chain = chain_logs(language);
  const OracleNumbers numbers =
      oracle_numbers(language, language.rewards[0], 1e-6, chain,
                     {best_logs(language.rewards[0].rewards, 1e-6, chain[0])});
  EXPECT_NEAR(numbers.best, 1e6, 1e-3);
  EXPECT_NEAR(numbers.closed(), 1, 1e-9);
  EXPECT_FALSE(numbers.above_best());
}

TEST(Oracle, MassIsCheckedAndBoundsWhatCanBeScored) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const ResponseLogs chain = chain_logs(language);
  ResponseLogs policy;
  for (const auto& logs : chain)
    policy.push_back(best_logs(language.rewards[0].rewards, 0.5, logs));
  for (double& log : policy[1]) log += std::log(1 + 1e-3);
  expect_error(ExitCode::usage,
               {"x.txt", "the policy", "15 responses", "'A B'", "1.001", "within 0.0001", "<sep>"},
               [&] { check_mass(language, policy, "the policy"); });
  check_mass(language, policy, "the policy", 1e-2);
  policy[0][3] = std::nan("");
  expect_error(ExitCode::usage, {"'A'", "nan"},
               [&] { check_mass(language, policy, "the policy", 1e-2); });
}

TEST(Oracle, AboveTheBestIsSeen) {
  const OracleLanguage language = parsed(kSmallLanguage);
  const OracleReward& reward = language.rewards[0];
  const ResponseLogs chain = chain_logs(language);
  ResponseLogs policy;
  for (const auto& logs : chain) policy.push_back(best_logs(reward.rewards, 0.5, logs));
  OracleNumbers numbers = oracle_numbers(language, reward, 0.5, chain, policy);
  // More mass than there is may score more, and the ceiling says how much.
  for (double& log : policy[0]) log += 1e-5;
  const OracleNumbers heavy = oracle_numbers(language, reward, 0.5, chain, policy);
  EXPECT_NEAR(heavy.mass_error, 1e-5, 1e-9);
  EXPECT_GT(std::abs(heavy.value - numbers.best), 1e-7);
  EXPECT_NEAR(heavy.value, heavy.ceiling, 1e-8);
  EXPECT_FALSE(heavy.above_best());
  numbers.value = numbers.best + 1e-6;
  EXPECT_TRUE(numbers.above_best());
  numbers.value = std::nan("");
  EXPECT_TRUE(numbers.above_best());
}

TEST(Oracle, SampledMeansMayMissByChanceOnly) {
  EXPECT_FALSE(sampled_above_best(0.5, 1, 10'000, 0.45));
  EXPECT_TRUE(sampled_above_best(0.5, 1, 10'000, 0.43));
  EXPECT_FALSE(sampled_above_best(0.50005, 0, 256, 0.5));
  EXPECT_TRUE(sampled_above_best(0.501, 0, 256, 0.5));
  EXPECT_TRUE(sampled_above_best(std::nan(""), 1, 256, 0.5));
}

// Tuned perfectly, but as if it cost nothing to be cut: no reward is below what it should be but
// one, and the share closed shows it.
TEST(Oracle, TheOptimumOfAnotherRewardDoesNotPass) {
  const std::string text = bytes_of_file("../configs/oracle/palindrome.txt");
  const size_t at = text.find("unended   replace -1");
  ASSERT_NE(at, text.npos);
  const OracleLanguage language = parsed(text),
                       lenient = parsed(std::string(text).replace(at, 20, "unended   replace 0"));
  const ResponseLogs chain = chain_logs(language);
  ResponseLogs policy;
  for (const auto& logs : chain) policy.push_back(best_logs(lenient.rewards[0].rewards, 0.5, logs));
  const OracleNumbers numbers = oracle_numbers(language, language.rewards[0], 0.5, chain, policy);
  EXPECT_NEAR(numbers.closed(), 0.5611455828853814, 1e-12);
  EXPECT_NEAR(numbers.divergence, 0.28712204906820404, 1e-12);
  EXPECT_LT(numbers.closed(), language.rewards[0].closed);
}

// Of the files that come with the program; the numbers are from a program of its own
// (tools/oracle_numbers.py).
TEST(Oracle, FilesThatComeWithTheProgram) {
  struct Known {
    const char* name;
    double beta, best, reference, best_reward, best_divergence;
  };
  for (const Known& known : {Known{"palindrome", 0.5, -0.00021423673848713838, -0.3278087459981615,
                                   0.3273154302225959, 0.6550593339221714},
                             Known{"length", 0.25, 0.3575812827843055, -0.1777935524763741,
                                   0.6080417793637857, 1.0018419863179102},
                             Known{"count", 0.25, 0.03217817461582288, -0.310253555608537,
                                   0.18582949254808293, 0.6146052717290487}}) {
    SCOPED_TRACE(known.name);
    const OracleLanguage language =
        read_oracle_language(std::string("../configs/oracle/") + known.name + ".txt");
    ASSERT_EQ(language.rewards.at(0).betas, std::vector<double>{known.beta});
    const ResponseLogs chain = chain_logs(language);
    const OracleNumbers numbers =
        oracle_numbers(language, language.rewards[0], known.beta, chain, chain);
    EXPECT_NEAR(numbers.best, known.best, 1e-12);
    EXPECT_NEAR(numbers.reference, known.reference, 1e-12);
    EXPECT_NEAR(numbers.best_reward, known.best_reward, 1e-12);
    EXPECT_NEAR(numbers.best_divergence, known.best_divergence, 1e-12);
  }
}

TEST(Oracle, TheBuiltInLanguageIsThatOfTheFiles) {
  const OracleLanguage built_in = oracle_language("built-in");
  ASSERT_EQ(built_in.rewards.size(), 3u);
  for (const OracleReward& reward : built_in.rewards) {
    const std::string name = reward.text.substr(0, reward.text.find(' '));
    const OracleLanguage file = oracle_language("../configs/oracle/" + name + ".txt");
    EXPECT_EQ(built_in.transitions, file.transitions);
    EXPECT_EQ(chain_logs(built_in), chain_logs(file));
    EXPECT_EQ(reward.rewards, file.rewards.at(0).rewards);
    EXPECT_EQ(reward.betas, file.rewards[0].betas);
    EXPECT_EQ(reward.closed, file.rewards[0].closed);
  }
}

}  // namespace
}  // namespace skein::rlhf::oracle
