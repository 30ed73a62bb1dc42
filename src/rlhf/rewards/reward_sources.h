// The kinds of rewards that need no model.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "skein/rlhf/rewards/rewards.h"

namespace skein::rlhf::rewards {

std::unique_ptr<RewardSource> regex_reward(const RewardSpec& spec, bool whole);
std::unique_ptr<RewardSource> length_reward(const RewardSpec& spec);
std::unique_ptr<RewardSource> exact_reward(const RewardSpec& spec);
std::unique_ptr<RewardSource> ended_reward(const RewardSpec& spec);
// Collective.
std::unique_ptr<RewardSource> words_reward(const RewardSpec& spec, Group& world);
std::unique_ptr<RewardSource> process_reward(const RewardSpec& spec, Group& world, double seconds);
// A usage error where process_reward has one.
void check_process(const RewardSpec& spec, double seconds);

// A text as messages show it: in quotes, on one line, within about 200 bytes.
std::string shown(std::string_view text);

// "a=1,b=2" as an argument has it. Usage errors for what has no '=', for keys not among `known` and
// for one that stands twice.
std::map<std::string, std::string> read_fields(const RewardSpec& spec, std::string_view text,
                                               const std::vector<std::string>& known);

// The finite number that is all of `text`; else a usage error with `what` of the reward it should
// be.
double read_number(const RewardSpec& spec, const std::string& what, std::string_view text);

// Without its end token.
int64_t answer_length(const Answer& answer);

// A reward with that name that cannot score, for RewardKind::foresee.
std::unique_ptr<RewardSource> foreseen_reward(const RewardSpec& spec);

// A reward that knows one answer at a time. check: what check_prompt asks, if anything.
std::unique_ptr<RewardSource> rule(const RewardSpec& spec,
                                   std::function<double(const Answer&)> score,
                                   std::function<void(const Prompt&)> check = {});

}  // namespace skein::rlhf::rewards
