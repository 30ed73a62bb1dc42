// The rewards that a language file may name. Each looks at a response's symbols y_1 ... y_n (n up
// to T, the most tokens of a response) and whether it ended.
//
//   reward palindrome shortest=2   1 where the symbols read the same backwards and are at least
//                                  `shortest`, else 0; with graded=1 the share of the pairs
//                                  (y_i, y_{n+1-i}) that agree
//   reward length                  n / T; with target=N, from 1 at N symbols down to 0 at the
//                                  length farthest from it
//   reward count B                 how often B occurs, over T
//   reward contains A B            1 where A B stands somewhere in the response, else 0
//   reward begins A B              1 where it begins so
//   reward ends A B                1 where its last symbols are these
//   reward ended                   1 where it ended
//   reward table default=0         as listed in lines below it: score 1.5 A B </s>, a value and a
//                                  whole response. Without a default each response must be listed.
//
// Each takes scale and offset as well: the reward is scale * (the above) + offset, by default 1 and
// 0. Rewards and scales lie within a million of 0.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace skein::rlhf::oracle {

struct RewardArguments {
  std::map<std::string, double> numbers;  // such as shortest
  std::vector<int32_t> symbols;           // such as A B

  double number(const std::string& name, double fallback) const;
};

struct ScoredResponse {
  std::span<const int32_t> symbols;
  bool ended = false;
  int64_t most = 1;  // T
};

struct NamedReward {
  std::string name;
  std::vector<std::string> numbers;  // beside scale and offset
  int64_t least_symbols, most_symbols;
  double (*score)(const ScoredResponse&, const RewardArguments&);  // null: listed in the file
};

// All of the above.
const std::vector<NamedReward>& named_rewards();

}  // namespace skein::rlhf::oracle
