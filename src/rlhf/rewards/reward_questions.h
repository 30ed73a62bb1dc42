// What a reward process is asked, and what it replies: skein/rlhf/rewards/rewards.h has the lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skein/rlhf/rewards/rewards.h"

namespace skein::rlhf::rewards {

// One batch of answers: what is asked, and the replies that have come. `who` and answers outlive
// it.
class RewardQuestions {
 public:
  RewardQuestions(const std::string& who, std::span<const Answer> answers, int64_t first_id)
      : who_(who),
        answers_(answers),
        first_id_(first_id),
        scores_(answers.size()),
        missing_(answers.size()) {}

  // A line for each answer.
  std::string lines() const;
  // A reply's line, {"id":7,"score":0.5}, to one of the questions; other keys and blank lines are
  // passed over. True when no reply is missing any more. Error(failure) naming the process and
  // showing the line for anything else: no JSON object, one with values nested deeper than 32
  // levels, an id that was not asked for or stood in an earlier line, a score that is no finite
  // number.
  bool take(std::string_view line);
  // In the order of the answers, once none is missing.
  std::vector<double> scores() const;
  std::string what_is_missing() const;

 private:
  const std::string& who_;
  std::span<const Answer> answers_;
  int64_t first_id_;
  std::vector<std::optional<double>> scores_;
  size_t missing_;
};

// Whether there is nothing in it but white space.
bool is_blank_reply(std::string_view text);

}  // namespace skein::rlhf::rewards
