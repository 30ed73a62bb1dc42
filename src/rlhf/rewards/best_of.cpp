#include "skein/rlhf/rewards/best_of.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "skein/core/error.h"
#include "skein/core/strings.h"

namespace skein::rlhf::rewards {
namespace {

constexpr int kPromptBits = 32;

}  // namespace

std::vector<uint64_t> answer_draws(size_t prompts, size_t each) {
  SKEIN_CHECK(prompts < uint64_t{1} << kPromptBits && each < uint64_t{1} << kPromptBits);
  std::vector<uint64_t> draws;
  for (uint64_t prompt = 0; prompt < prompts; ++prompt)
    for (uint64_t answer = 0; answer < each; ++answer)
      draws.push_back(prompt | answer << kPromptBits);
  return draws;
}

size_t best_of(std::span<const double> scores) {
  SKEIN_CHECK(!scores.empty());
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

RankedAnswers ranked_answers(std::span<const std::string> answers, std::span<const double> scores) {
  SKEIN_CHECK_EQ(answers.size(), scores.size());
  std::vector<size_t> all(answers.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::stable_sort(all.begin(), all.end(),
                   [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  RankedAnswers made;
  std::set<std::string> known;
  for (size_t i : all) {
    if (!known.insert(trimmed(answers[i])).second) continue;
    const bool equal = !made.order.empty() && scores[i] == scores[made.order.back()];
    made.ranks.push_back(equal ? made.ranks.back() : std::ssize(made.order) + 1);
    made.order.push_back(i);
  }
  return made;
}

}  // namespace skein::rlhf::rewards
