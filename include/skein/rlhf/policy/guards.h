// Looks at an iteration for what makes learning meaningless, and names the cause.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/core/repeated_warnings.h"
#include "skein/rlhf/policy/episodes.h"

namespace skein::rlhf::policy {

struct KlFinding {
  double mean = 0;
  double error = 0;  // standard error of the mean
  // how far below 0 the mean may be because of answers that happened not to be drawn, which no
  // standard error knows of
  double hidden = 0;
  // A KL is never below 0; chance alone hardly takes its estimate so far.
  bool impossible() const { return mean < -3 * error && mean < -hidden && mean < -1e-6; }
};

// Of the sums of k1 over each answer. Answers of a share q of the policy's mass are all missed by n
// draws with probability (1 - q)^n, and as E[exp(-k1)] is 1 at most, the others' mean is log(1 - q)
// at least: log(p) / n, where p is the probability of three standard errors.
KlFinding kl_finding(const std::vector<Episode>& episodes);

// Warns of a KL that cannot be; Error(failure) at the third in a row. Returns how many in a row
// that makes.
int64_t guard_kl(const KlFinding& found, int64_t in_a_row, double temperature,
                 RepeatedWarnings& warnings);
// Error(failure) where the policy that learns does not say what it said when it was asked, though
// it has not learnt since.
void guard_ratio(double share_off, int64_t iteration);
// Warns when all scores are equal, all groups flat, or most answers cut, of which missing_end says
// what they count for. flat: groups of equal rewards among `groups`.
void guard_scores(const std::vector<Episode>& episodes, int64_t flat, int64_t groups,
                  int64_t most_tokens, ShapingConfig::MissingEnd missing_end,
                  RepeatedWarnings& warnings);

}  // namespace skein::rlhf::policy
