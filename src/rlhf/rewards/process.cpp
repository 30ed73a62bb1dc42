#include <cmath>
#include <cstring>
#include <exception>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/process/child_process.h"

#include "reward_questions.h"
#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

using Outcome = ChildProcess::Outcome;

constexpr double kWaitForEnding = 1;  // seconds

class ProcessReward : public RewardSource {
 public:
  ProcessReward(const RewardSpec& spec, Group& world, double seconds)
      : name_(shown(spec.text())), world_(world), seconds_(seconds) {
    check_process(spec, seconds);
    checkpoint::from_root(world_, [&] {
      child_ = std::make_unique<ChildProcess>(spec.argument);
      return std::string();
    });
  }

  std::string name() const override { return name_; }

  std::vector<double> scores(std::span<const Answer> answers) override {
    if (answers.empty()) return {};
    std::vector<double> told;
    std::exception_ptr failed;
    try {
      if (world_.rank() == 0) told = asked(answers);
    } catch (const Interruption&) {
      throw;  // the others wait at the meeting, which it leaves on all ranks
    } catch (...) {
      failed = std::current_exception();
    }
    if (meeting_) meeting_->finish();
    const std::string bytes = checkpoint::from_root(world_, [&] {
      if (failed) std::rethrow_exception(failed);
      return std::string(reinterpret_cast<const char*>(told.data()), told.size() * sizeof(double));
    });
    std::vector<double> all(answers.size());
    SKEIN_CHECK_EQ(bytes.size(), all.size() * sizeof(double));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

  void set_meeting(Meeting* meeting) override { meeting_ = meeting; }

 private:
  std::vector<double> asked(std::span<const Answer> answers) {
    if (!child_) fail("the reward {} has failed before", name_);
    try {
      return exchanged(answers);
    } catch (...) {
      child_->stop();
      child_.reset();
      throw;
    }
  }

  std::vector<double> exchanged(std::span<const Answer> answers) {
    RewardQuestions questions(name_, answers, next_id_);
    next_id_ += std::ssize(answers);
    const Outcome outcome = child_->exchange(
        questions.lines(), seconds_, [&](std::string_view line) { return questions.take(line); },
        [&] {
          if (meeting_) meeting_->pass();
        });
    if (outcome != Outcome::done) explain(outcome, questions);
    if (!is_blank_reply(child_->unread()))
      fail("the reward {} wrote more than a line for each answer: {}", name_,
           shown(child_->unread()));
    return questions.scores();
  }

  [[noreturn]] void explain(Outcome outcome, const RewardQuestions& questions) const {
    const std::string left =
        child_->unread().empty() ? "" : "; the last it wrote is " + shown(child_->unread());
    if (outcome == Outcome::closed)
      fail("the reward {} {}: {}{}", name_, child_->ending(kWaitForEnding),
           questions.what_is_missing(), left);
    if (outcome == Outcome::endless)
      fail(
          "the reward {} wrote a line of more than {} bytes, where one is "
          "{{\"id\":0,\"score\":0.5}}: {}",
          name_, ChildProcess::kLongestLine, shown(child_->unread()));
    fail(
        "the reward {} was not done after {} seconds: {}{}. Does it write its replies at once "
        "(flush after each line)? Else give it more time",
        name_, seconds_, questions.what_is_missing(), left);
  }

  std::string name_;
  Group& world_;
  double seconds_;
  std::unique_ptr<ChildProcess> child_;  // rank 0 only
  int64_t next_id_ = 0;
  Meeting* meeting_ = nullptr;
};

}  // namespace

void check_process(const RewardSpec& spec, double seconds) {
  require(!spec.argument.empty(), "the reward process needs a command behind a colon");
  require(std::isfinite(seconds) && seconds > 0,
          "a reward process cannot have {} seconds for a batch; give more than 0", seconds);
}

std::unique_ptr<RewardSource> process_reward(const RewardSpec& spec, Group& world, double seconds) {
  return std::make_unique<ProcessReward>(spec, world, seconds);
}

}  // namespace skein::rlhf::rewards
