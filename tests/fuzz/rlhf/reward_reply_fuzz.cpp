// What a reward process replies: lines for a batch of five answers from id 7 on.
#include <cmath>

#include "../fuzz.h"
#include "rlhf/rewards/reward_questions.h"

void fuzz(std::string_view input) {
  constexpr size_t kAnswers = 5;
  static const std::vector<skein::rlhf::rewards::Answer> answers(kAnswers);
  static const std::string who = "process";
  skein::rlhf::rewards::RewardQuestions questions(who, answers, 7);
  bool done = false;
  size_t taken = 0;
  while (!done && !input.empty()) {
    const size_t end = input.find('\n');
    const std::string_view line = input.substr(0, end);
    input.remove_prefix(end == input.npos ? input.size() : end + 1);
    taken += !skein::rlhf::rewards::is_blank_reply(line);
    done = questions.take(line);
  }
  if (done != (taken == kAnswers)) std::abort();
  if (questions.what_is_missing().empty()) std::abort();
  if (!done) return;
  const std::vector<double> scores = questions.scores();
  if (scores.size() != kAnswers) std::abort();
  for (const double score : scores)
    if (!std::isfinite(score)) std::abort();
}
