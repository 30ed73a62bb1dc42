// Policies for the oracle's tests.
#pragma once

#include <cmath>
#include <vector>

#include "skein/rlhf/oracle/oracle.h"

#include "oracle_fixtures.h"

namespace skein::test {

// Log-probabilities that have nothing to do with the chain; each prompt's sum to 1.
inline ResponseLogs odd_policy(const OracleLanguage& language) {
  ResponseLogs logs;
  for (size_t x = 0; x < language.prompts.size(); ++x) {
    std::vector<double> row;
    for (int64_t y = 0; y < language.responses.size(); ++y)
      row.push_back(std::sin(static_cast<double>(3 * y + static_cast<int64_t>(x) + 1)));
    const double sum = log_sum(row);
    for (double& log : row) log -= sum;
    logs.push_back(row);
  }
  return logs;
}

}  // namespace skein::test
