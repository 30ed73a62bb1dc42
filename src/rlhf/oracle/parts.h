// How the parts of a language file are read.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "skein/rlhf/oracle/language.h"

#include "lines.h"

namespace skein::rlhf::oracle {

constexpr int64_t kLongestOracleText = 1000;  // symbols of a prompt, tokens of a response

// Ids by name: of the symbols, and of the end.
class SymbolNames {
 public:
  explicit SymbolNames(const OracleLanguage& language);

  // A usage error listing the alphabet where `word` is none; the end counts only where `or_end`.
  int32_t id(const OracleLine& line, const std::string& word, bool or_end) const;

 private:
  std::map<std::string, int32_t> ids_;
  int32_t end_;
  std::string listed_;
};

// The numbers divided by their sum. A usage error naming the sum where it is not 1, and negative
// numbers.
std::vector<double> read_distribution(const OracleLine& line, const std::string& what,
                                      std::vector<double> numbers);

// For a language whose alphabet, chain and responses are known.
std::vector<OraclePrompt> read_prompts(const OracleLines& lines, const OracleLanguage& language);
// For one that also knows what becomes of responses that did not end.
std::vector<OracleReward> read_rewards(const OracleLines& lines, const OracleLanguage& language);

}  // namespace skein::rlhf::oracle
