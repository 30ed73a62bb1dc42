// The verdict on tuned policies: as a table, and every response for whoever wants to check it.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "skein/rlhf/oracle/oracle.h"

namespace skein::rlhf::oracle {

// A policy tuned for one reward under one beta.
struct OracleOutcome {
  std::string reward;  // as the file says it
  double beta = 0;
  double least_closed = 0;
  OracleNumbers numbers;
  bool sampled_above = false;  // training logged a return above J*, as sampled_above_best tells
  // Settings that have another optimum, told where the gap stays open.
  std::vector<std::string> caveats = {};

  bool closed_enough() const { return numbers.closed() >= least_closed; }
  bool passed() const { return closed_enough() && !numbers.above_best() && !sampled_above; }
};

// One line each with aligned columns under a heading, then a sentence for each reason not to pass.
// Lines end in \n.
std::string oracle_table(std::span<const OracleOutcome> outcomes);

// A heading, then a line a pair of prompt and response, with tabs between:
//   prompt  response  log_reference  log_policy  log_best  reward
// prompt: its symbols; response: its tokens, the end included where it ended; natural logarithms,
// -inf for never; numbers read back as they are. reward: with what becomes of responses that did
// not end.
void write_oracle_dump(std::ostream& out, const OracleLanguage& language,
                       const OracleReward& reward, double beta, const ResponseLogs& reference,
                       const ResponseLogs& policy);

}  // namespace skein::rlhf::oracle
