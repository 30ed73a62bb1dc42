#include "skein/rlhf/oracle/report.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::rlhf::oracle {
namespace {

using Row = std::vector<std::string>;

const Row kHeading = {"reward",  "beta",        "J*",     "J(ref)",    "J",
                      "closed",  "needed",      "E[r]",   "best E[r]", "KL(pi, ref)",
                      "best KL", "KL(pi, pi*)", "spread", "verdict"};

std::string rounded(double value) { return fmt::format("{:.5f}", shown_number(value)); }

Row row_of(const OracleOutcome& outcome) {
  const OracleNumbers& n = outcome.numbers;
  return {outcome.reward,
          fmt::format("{}", outcome.beta),
          rounded(n.best),
          rounded(n.reference),
          rounded(n.value),
          fmt::format("{:.4f}", shown_number(n.closed())),
          fmt::format("{:.2f}", outcome.least_closed),
          rounded(n.reward),
          rounded(n.best_reward),
          rounded(n.divergence),
          rounded(n.best_divergence),
          rounded(n.distance),
          rounded(n.spread),
          outcome.passed() ? "passed" : "FAILED"};
}

std::string aligned(const std::vector<Row>& rows) {
  std::vector<size_t> widths(kHeading.size());
  for (const Row& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    text += fmt::format("{:<{}}", row[0], widths[0]);
    for (size_t i = 1; i < row.size(); ++i) text += fmt::format("  {:>{}}", row[i], widths[i]);
    text += '\n';
  }
  return text;
}

std::string reasons(const OracleOutcome& outcome) {
  const OracleNumbers& n = outcome.numbers;
  const std::string which = fmt::format("{} at beta {}: ", outcome.reward, outcome.beta);
  std::string text;
  if (!outcome.closed_enough()) {
    text += which +
            fmt::format(
                "{:.4f} of the gap between the reference and the optimum is closed; {} is needed\n",
                shown_number(n.closed()), outcome.least_closed);
    for (const std::string& caveat : outcome.caveats) text += which + caveat + "\n";
  }
  if (n.value > n.ceiling)
    text += which +
            fmt::format("the policy's J {:.9g} is above J* {:.9g}, which nothing can be: a bug\n",
                        n.value, n.best);
  if (outcome.sampled_above)
    text += which + fmt::format(
                        "training logged a mean return above J* {:.9g}, which nothing can reach: "
                        "its rewards or KL are wrong\n",
                        n.best);
  return text;
}

}  // namespace

std::string oracle_table(std::span<const OracleOutcome> outcomes) {
  std::vector<Row> rows = {kHeading};
  std::string below;
  for (const OracleOutcome& outcome : outcomes) {
    rows.push_back(row_of(outcome));
    below += reasons(outcome);
  }
  return aligned(rows) + below;
}

void write_oracle_dump(std::ostream& out, const OracleLanguage& language,
                       const OracleReward& reward, double beta, const ResponseLogs& reference,
                       const ResponseLogs& policy) {
  out << "prompt\tresponse\tlog_reference\tlog_policy\tlog_best\treward\n";
  for (size_t x = 0; x < language.prompts.size(); ++x) {
    const std::vector<double> best = best_logs(reward.rewards, beta, reference[x]);
    const std::string prompt = language.text_of(language.prompts[x].symbols);
    for (size_t y = 0; y < best.size(); ++y)
      out << fmt::format("{}\t{}\t{}\t{}\t{}\t{}\n", prompt,
                         language.text_of(language.response_tokens(y)), reference[x][y],
                         policy[x][y], best[y], reward.rewards[y]);
  }
}

}  // namespace skein::rlhf::oracle
