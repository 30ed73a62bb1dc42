#include "skein/generate/deal.h"

#include <algorithm>

#include "skein/core/numbers.h"

namespace skein::generate {
namespace {

// Neighbours [first, last) that are equal.
struct Run {
  size_t first, last;
};

std::vector<Run> runs_of(const std::vector<std::vector<int32_t>>& prompts, size_t longest) {
  std::vector<Run> runs;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const bool goes_on = i > 0 && prompts[i] == prompts[i - 1] && i - runs.back().first < longest;
    if (goes_on)
      runs.back().last = i + 1;
    else
      runs.push_back({i, i + 1});
  }
  return runs;
}

}  // namespace

std::vector<std::vector<size_t>> deal_prompts(const std::vector<std::vector<int32_t>>& prompts,
                                              int ranks) {
  const size_t count = ranks;
  std::vector<Run> runs = runs_of(prompts, pieces_of(std::ssize(prompts), ranks));
  std::stable_sort(runs.begin(), runs.end(), [&](const Run& a, const Run& b) {
    return prompts[a.first].size() > prompts[b.first].size();
  });
  std::vector<std::vector<size_t>> dealt(count);
  for (const Run& run : runs) {
    auto& least = *std::min_element(dealt.begin(), dealt.end(), [](const auto& a, const auto& b) {
      return a.size() < b.size();
    });
    for (size_t i = run.first; i < run.last; ++i) least.push_back(i);
  }
  return dealt;
}

}  // namespace skein::generate
