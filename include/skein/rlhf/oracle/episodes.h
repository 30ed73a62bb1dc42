// An enumerable language as tuning wants it: prompts to draw, what may be said, and every answer
// there is to ask a policy about.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/rlhf/oracle/oracle.h"
#include "skein/rlhf/oracle/samples.h"
#include "skein/rlhf/policy/advantage.h"
#include "skein/rlhf/policy/episodes.h"

namespace skein::rlhf::oracle {

// Prompts as often as the language says; their tokens end in the separator, their texts do not.
class OraclePrompts : public policy::Prompts {
 public:
  OraclePrompts(const OracleLanguage& language, uint64_t seed);
  rewards::Prompt at(int64_t index) const override;

 private:
  std::vector<rewards::Prompt> prompts_;
  OracleDraws draws_;
};

// Tokens that are in no response: the separator and the pad.
std::vector<int64_t> oracle_banned(const OracleLanguage& language);
// Makes tuning charge answers that have not ended as the language says, so that
// OracleReward::scores become OracleReward::rewards.
void charge_unended(const OracleLanguage& language, policy::ShapingConfig& shaping);

// All responses to all prompts: those of the first prompt in the order of ResponseTree, then those
// of the next.
std::vector<policy::Episode> oracle_episodes(const OracleLanguage& language);
// The log-probabilities of these episodes from those of their tokens, logp or ref_logp.
ResponseLogs oracle_logs(const OracleLanguage& language,
                         const std::vector<policy::Episode>& episodes,
                         std::vector<double> policy::Trajectory::*token_logs);

}  // namespace skein::rlhf::oracle
