// Answers to score.
#pragma once

#include <string>
#include <vector>

#include "skein/comm/local.h"
#include "skein/rlhf/rewards/rewards.h"

#include "support/expect_error.h"

namespace skein::test {

// As many tokens as `tokens`, the end token among them where it ended.
inline rlhf::rewards::Answer answer(const std::string& text, const std::string& record = "",
                                    int64_t tokens = 1, bool ended = true) {
  rlhf::rewards::Answer made;
  made.prompt = {{}, {{"user", "What?"}}, record, 12};
  made.text = text;
  made.tokens.assign(static_cast<size_t>(tokens), 7);
  made.ended = ended;
  return made;
}

inline std::vector<double> scores_of(const std::string& list,
                                     const std::vector<rlhf::rewards::Answer>& answers) {
  const auto world = single_rank();
  return rlhf::rewards::make_rewards(list, {*world}).scores(answers);
}

inline double score_of(const std::string& list, const rlhf::rewards::Answer& one) {
  return scores_of(list, {one}).at(0);
}

// Makes the rewards and scores one answer; either must fail.
inline void expect_refused_reward(const std::string& list, std::initializer_list<std::string> words,
                                  const rlhf::rewards::Answer& one = answer("x")) {
  expect_error(ExitCode::usage, words, [&] { score_of(list, one); });
}

}  // namespace skein::test
