// Several answers to a prompt, compared by their scores: best-of-N and rejection sampling (Stiennon
// et al. 2020; Touvron et al. 2023).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace skein::rlhf::rewards {

// A draw for each of `each` answers to each of `prompts` prompts, those of a prompt together. An
// answer is the same whatever number of answers and prompts is asked for beside it, and the first
// to each prompt is the one that is made where one is asked for.
std::vector<uint64_t> answer_draws(size_t prompts, size_t each);

// The index of the highest score, of equal ones the first. scores: at least one.
size_t best_of(std::span<const double> scores);

struct RankedAnswers {
  std::vector<size_t> order;   // indices, the best first, equal scores as they came
  std::vector<int64_t> ranks;  // in that order: 1 for the best, equal scores have equal ranks
};
// Of answers that read the same, white space at both ends aside, only the best stays: data that
// compares them would contradict itself.
RankedAnswers ranked_answers(std::span<const std::string> answers, std::span<const double> scores);

}  // namespace skein::rlhf::rewards
