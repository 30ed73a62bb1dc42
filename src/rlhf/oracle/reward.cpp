#include "skein/rlhf/oracle/reward.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "skein/core/numbers.h"

namespace skein::rlhf::oracle {
namespace {

double palindrome(const ScoredResponse& response, const RewardArguments& arguments) {
  const auto size = std::ssize(response.symbols);
  if (size < arguments.number("shortest", 2)) return 0;
  const int64_t pairs = size / 2;
  int64_t agree = 0;
  for (int64_t i = 0; i < pairs; ++i)
    agree += response.symbols[i] == response.symbols[size - 1 - i];
  if (pairs == 0 || agree == pairs) return 1;
  return arguments.number("graded", 0) != 0 ? ratio(agree, pairs) : 0;
}

double length(const ScoredResponse& response, const RewardArguments& arguments) {
  const double size = response.symbols.size(), most = response.most;
  if (!arguments.numbers.contains("target")) return size / most;
  const double target = arguments.number("target", most);
  return 1 - std::abs(size - target) / std::max(target, most - target);
}

double count(const ScoredResponse& response, const RewardArguments& arguments) {
  return ratio(std::count(response.symbols.begin(), response.symbols.end(), arguments.symbols[0]),
               response.most);
}

double contains(const ScoredResponse& response, const RewardArguments& arguments) {
  return !std::ranges::search(response.symbols, arguments.symbols).empty();
}

double begins(const ScoredResponse& response, const RewardArguments& arguments) {
  const std::vector<int32_t>& wanted = arguments.symbols;
  return std::ranges::mismatch(wanted, response.symbols).in1 == wanted.end();
}

double ends(const ScoredResponse& response, const RewardArguments& arguments) {
  const auto wanted = arguments.symbols | std::views::reverse;
  return std::ranges::mismatch(wanted, response.symbols | std::views::reverse).in1 == wanted.end();
}

double ended(const ScoredResponse& response, const RewardArguments&) { return response.ended; }

}  // namespace

double RewardArguments::number(const std::string& name, double fallback) const {
  const auto found = numbers.find(name);
  return found == numbers.end() ? fallback : found->second;
}

const std::vector<NamedReward>& named_rewards() {
  static const std::vector<NamedReward> all = {
      {"palindrome", {"shortest", "graded"}, 0, 0, palindrome},
      {"length", {"target"}, 0, 0, length},
      {"count", {}, 1, 1, count},
      {"contains", {}, 1, INT64_MAX, contains},
      {"begins", {}, 1, INT64_MAX, begins},
      {"ends", {}, 1, INT64_MAX, ends},
      {"ended", {}, 0, 0, ended},
      {"table", {"default"}, 0, 0, nullptr},
  };
  return all;
}

}  // namespace skein::rlhf::oracle
