// Policies for the oracle's tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "skein/rlhf/oracle/oracle.h"

#include "rlhf/oracle_fixtures.h"

namespace skein::test {

// Log-probabilities that have nothing to do with the chain; each prompt's sum to 1.
inline rlhf::oracle::ResponseLogs odd_policy(const rlhf::oracle::OracleLanguage& language) {
  rlhf::oracle::ResponseLogs logs;
  for (size_t x = 0; x < language.prompts.size(); ++x) {
    std::vector<double> row;
    for (int64_t y = 0; y < language.responses.size(); ++y)
      row.push_back(std::sin(static_cast<double>(3 * y + static_cast<int64_t>(x) + 1)));
    const double sum = rlhf::oracle::log_sum(row);
    for (double& log : row) log -= sum;
    logs.push_back(row);
  }
  return logs;
}

// log of the mass of each subtree.
inline std::vector<double> subtree_logs(const rlhf::oracle::ResponseTree& responses,
                                        std::span<const double> logs) {
  std::vector<double> sums(logs.begin(), logs.end());
  std::vector<double> parts(responses.alphabet() + 1);
  for (int64_t prefix = responses.prefixes() - 1; prefix >= 0; --prefix) {
    std::copy_n(sums.begin() + responses.child(prefix, 0), responses.alphabet(), parts.begin());
    parts.back() = logs[prefix];
    sums[prefix] = rlhf::oracle::log_sum(parts);
  }
  return sums;
}

// The inverse of response_logs. NaN after beginnings that never occur.
inline std::vector<double> token_logs(const rlhf::oracle::ResponseTree& responses,
                                      std::span<const double> logs) {
  const std::vector<double> masses = subtree_logs(responses, logs);
  std::vector<double> next;
  for (int64_t prefix = 0; prefix < responses.prefixes(); ++prefix) {
    const double mass = masses[prefix];
    for (int64_t symbol = 0; symbol < responses.alphabet(); ++symbol)
      next.push_back(masses[responses.child(prefix, symbol)] - mass);
    next.push_back(logs[prefix] - mass);
  }
  return next;
}

}  // namespace skein::test
