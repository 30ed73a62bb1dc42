#include "skein/rlhf/rewards/rewards.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/options/options.h"
#include "skein/core/strings.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

class Rule : public RewardSource {
 public:
  Rule(std::string name, std::function<double(const Answer&)> score,
       std::function<void(const Prompt&)> check)
      : name_(std::move(name)), score_(std::move(score)), check_(std::move(check)) {}
  std::string name() const override { return name_; }
  std::vector<double> scores(std::span<const Answer> answers) override {
    std::vector<double> all;
    for (const Answer& answer : answers) all.push_back(score_(answer));
    return all;
  }
  void check_prompt(const Prompt& prompt) const override {
    if (check_) check_(prompt);
  }

 private:
  std::string name_;
  std::function<double(const Answer&)> score_;
  std::function<void(const Prompt&)> check_;
};

class Foreseen : public RewardSource {
 public:
  explicit Foreseen(const RewardSpec& spec) : name_(shown(spec.text())) {}
  std::string name() const override { return name_; }
  std::vector<double> scores(std::span<const Answer>) override {
    fail("the reward {} was only looked at", name_);
  }

 private:
  std::string name_;
};

using Kinds = std::map<std::string, RewardKind>;

Kinds kinds_of(const RewardContext& context) {
  Kinds all;
  all["regex"] = {[](const RewardSpec& spec) { return regex_reward(spec, false); }};
  all["regex_full"] = {[](const RewardSpec& spec) { return regex_reward(spec, true); }};
  all["length"] = {length_reward};
  all["exact"] = {exact_reward};
  all["ended"] = {ended_reward};
  all["words"] = {[&](const RewardSpec& spec) { return words_reward(spec, context.world); }};
  all["process"] = {[&](const RewardSpec& spec) {
                      return process_reward(spec, context.world, context.process_seconds);
                    },
                    [&](const RewardSpec& spec) {
                      check_process(spec, context.process_seconds);
                      return foreseen_reward(spec);
                    }};
  for (const auto& [name, kind] : context.more) all[name] = kind;
  return all;
}

std::unique_ptr<RewardSource> made(const RewardSpec& spec, const Kinds& all, bool foresee) {
  if (const auto found = all.find(spec.kind); found != all.end()) {
    const RewardKind& kind = found->second;
    return foresee && kind.foresee ? kind.foresee(spec) : kind.make(spec);
  }
  std::vector<std::string> kinds;
  for (const auto& [name, kind] : all) kinds.push_back(name);
  const std::string near = nearest(spec.kind, kinds);
  fail_usage("there is no reward {}{}; there are {}", spec.kind,
             near.empty() ? "" : fmt::format(", did you mean {}?", near), fmt::join(kinds, ", "));
}

std::string label_for(const std::string& kind, const std::vector<RewardMixture::Part>& parts) {
  const auto taken = [&](const std::string& label) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](const RewardMixture::Part& part) { return part.label == label; });
  };
  std::string label = kind;
  for (int number = 2; taken(label); ++number) label = fmt::format("{}_{}", kind, number);
  return label;
}

void check_scores(const std::string& source, std::span<const Answer> answers,
                  std::span<const double> scores) {
  SKEIN_CHECK_EQ(scores.size(), answers.size());
  for (size_t i = 0; i < scores.size(); ++i)
    if (!std::isfinite(scores[i]))
      fail("the reward {} gives {} for an answer to prompt {}: {}", source, shown_number(scores[i]),
           answers[i].prompt.number, shown(answers[i].text));
}

}  // namespace

std::unique_ptr<RewardSource> foreseen_reward(const RewardSpec& spec) {
  return std::make_unique<Foreseen>(spec);
}

std::unique_ptr<RewardSource> rule(const RewardSpec& spec,
                                   std::function<double(const Answer&)> score,
                                   std::function<void(const Prompt&)> check) {
  return std::make_unique<Rule>(shown(spec.text()), std::move(score), std::move(check));
}

int64_t answer_length(const Answer& answer) {
  return std::ssize(answer.tokens) - (answer.ended && !answer.tokens.empty());
}

RewardMixture::RewardMixture(std::vector<Part> parts)
    : parts_(std::move(parts)), last_(parts_.size()) {
  SKEIN_CHECK(!parts_.empty());
}

std::string RewardMixture::name() const {
  std::string text;
  for (const Part& part : parts_)
    text += fmt::format("{}{}*{}", text.empty() ? "" : "; ", part.weight, part.source->name());
  return text;
}

std::vector<double> RewardMixture::scores(std::span<const Answer> answers) {
  std::vector<double> sums(answers.size(), 0);
  for (size_t p = 0; p < parts_.size(); ++p) {
    last_[p] = parts_[p].source->scores(answers);
    check_scores(parts_[p].source->name(), answers, last_[p]);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += parts_[p].weight * last_[p][i];
  }
  check_scores(name(), answers, sums);
  return sums;
}

void RewardMixture::set_meeting(Meeting* meeting) {
  for (const Part& part : parts_) part.source->set_meeting(meeting);
}

void RewardMixture::check_prompt(const Prompt& prompt) const {
  for (const Part& part : parts_) part.source->check_prompt(prompt);
}

RewardMixture make_rewards(const std::string& list, const RewardContext& context) {
  const Kinds all = kinds_of(context);
  std::vector<RewardMixture::Part> parts;
  for (const RewardSpec& spec : parse_rewards(list))
    parts.push_back({spec.weight, label_for(spec.kind, parts), made(spec, all, context.foresee)});
  return RewardMixture(std::move(parts));
}

}  // namespace skein::rlhf::rewards
