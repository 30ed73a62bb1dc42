// Language files of the oracle: what is read must have distributions that sum to 1 and as many
// rewards as responses.
#include <cmath>

#include "skein/rlhf/oracle/language.h"

#include "../fuzz.h"

void fuzz(std::string_view input) {
  const skein::rlhf::oracle::OracleLanguage language =
      skein::rlhf::oracle::parse_oracle_language(std::string(input), "fuzz");
  double sum = 0;
  for (const skein::rlhf::oracle::OraclePrompt& prompt : language.prompts)
    sum += prompt.probability;
  if (!(std::abs(sum - 1) < 1e-6)) std::abort();
  for (const skein::rlhf::oracle::OracleReward& reward : language.rewards) {
    if (reward.betas.empty() ||
        reward.rewards.size() != static_cast<size_t>(language.responses.size()))
      std::abort();
    for (const double value : reward.rewards)
      if (!std::isfinite(value)) std::abort();
  }
  if (language.responses.size() * static_cast<int64_t>(language.prompts.size()) >
      skein::rlhf::oracle::kMostOraclePairs)
    std::abort();
  for (int64_t y = 0; y < language.responses.size(); y += 97)
    if (language.response_of(language.response_tokens(y)) != y) std::abort();
}
