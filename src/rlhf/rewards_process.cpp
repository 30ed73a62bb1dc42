#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "child_process.h"
#include "reward_sources.h"
#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/strict_json.h"

namespace skein {
namespace {

using Json = nlohmann::json;
using Outcome = ChildProcess::Outcome;

constexpr double kWaitForEnding = 1;  // seconds

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

std::string request_line(int64_t id, const Answer& answer) {
  const Json record = answer.record.empty() ? Json() : Json::parse(answer.record, nullptr, false);
  Json request{{"id", id}, {"prompt", answer.asked()}, {"messages", Json::array()}, {"response", answer.text}, {"ended", answer.ended}};
  for (const auto& [role, content] : answer.messages) request["messages"].push_back({{"role", role}, {"content", content}});
  request["record"] = record.is_object() ? record : Json::object();
  return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// One batch of answers: what is asked, and the replies that have come.
class Questions {
 public:
  Questions(const std::string& who, std::span<const Answer> answers, int64_t first_id)
      : who_(who), answers_(answers), first_id_(first_id), scores_(answers.size()), missing_(answers.size()) {}

  std::string lines() const {
    std::string text;
    for (size_t i = 0; i < answers_.size(); ++i) text += request_line(first_id_ + static_cast<int64_t>(i), answers_[i]);
    return text;
  }

  // True when no reply is missing any more.
  bool take(std::string_view line) {
    if (is_blank(line)) return missing_ == 0;
    const Json reply = parsed(line);
    const size_t place = place_of(reply, line);
    scores_[place] = score_of(reply, answers_[place].prompt, line);
    --missing_;
    return missing_ == 0;
  }

  std::vector<double> scores() const {
    std::vector<double> all;
    for (const auto& score : scores_) all.push_back(score.value());
    return all;
  }


  std::string what_is_missing() const {
    const auto first = std::find(scores_.begin(), scores_.end(), std::nullopt);
    if (first == scores_.end()) return fmt::format("it has scored all {} answers, but not read all of them", scores_.size());
    return fmt::format("prompt {} has no score, as {} of {} answers", answers_[static_cast<size_t>(first - scores_.begin())].prompt, missing_,
                       scores_.size());
  }

 private:
  Json parsed(std::string_view line) const {
    Json reply;
    std::string why = "no JSON object";
    try {
      reply = Json::parse(line);
    } catch (const Json::exception& error) {
      why = std::string(error.what()).find("number overflow") != std::string::npos ? "a number that is not finite" : "no JSON";
    }
    if (!reply.is_object())
      fail("the reward {} wrote {}: {}; it must write lines like {{\"id\":{},\"score\":0.5}}", who_, why, shown(line), first_id_);
    return reply;
  }

  size_t place_of(const Json& reply, std::string_view line) const {
    const auto id = reply.find("id");
    if (id == reply.end() || !id->is_number_integer()) fail("the reward {} wrote no whole number as \"id\": {}", who_, shown(line));
    const auto last = first_id_ + static_cast<int64_t>(scores_.size()) - 1;
    const bool asked = is_whole<int64_t>(*id) && id->get<int64_t>() >= first_id_ && id->get<int64_t>() <= last;
    if (!asked) fail("the reward {} scored id {}, but was asked for ids {} to {}: {}", who_, id->dump(), first_id_, last, shown(line));
    const auto place = static_cast<size_t>(id->get<int64_t>() - first_id_);
    if (scores_[place]) fail("the reward {} scored id {}, of prompt {}, twice: {}", who_, id->dump(), answers_[place].prompt, shown(line));
    return place;
  }

  double score_of(const Json& reply, int64_t prompt, std::string_view line) const {
    const auto score = reply.find("score");
    if (score == reply.end() || !score->is_number()) fail("the reward {} wrote no number as \"score\" of prompt {}: {}", who_, prompt, shown(line));
    return score->get<double>();
  }

  const std::string& who_;
  std::span<const Answer> answers_;
  int64_t first_id_;
  std::vector<std::optional<double>> scores_;
  size_t missing_;
};

class ProcessReward : public RewardSource {
 public:
  ProcessReward(const RewardSpec& spec, Group& world, double seconds) : name_(shown(spec.text())), world_(world), seconds_(seconds) {
    require(!spec.argument.empty(), "the reward process needs a command behind a colon");
    require(std::isfinite(seconds) && seconds > 0, "a reward process cannot have {} seconds for a batch; give more than 0", seconds);
    from_root(world_, [&] {
      child_ = std::make_unique<ChildProcess>(spec.argument);
      return std::string();
    });
  }

  std::string name() const override { return name_; }

  std::vector<double> scores(std::span<const Answer> answers) override {
    if (answers.empty()) return {};
    const std::string bytes = from_root(world_, [&] {
      const std::vector<double> all = asked(answers);
      return std::string(reinterpret_cast<const char*>(all.data()), all.size() * sizeof(double));
    });
    std::vector<double> all(answers.size());
    SKEIN_CHECK_EQ(bytes.size(), all.size() * sizeof(double));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }

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
    Questions questions(name_, answers, next_id_);
    next_id_ += static_cast<int64_t>(answers.size());
    const Outcome outcome = child_->exchange(questions.lines(), seconds_, [&](std::string_view line) { return questions.take(line); });
    if (outcome != Outcome::done) explain(outcome, questions);
    if (!is_blank(child_->unread())) fail("the reward {} wrote more than a line for each answer: {}", name_, shown(child_->unread()));
    return questions.scores();
  }

  [[noreturn]] void explain(Outcome outcome, const Questions& questions) const {
    const std::string left = child_->unread().empty() ? "" : "; the last it wrote is " + shown(child_->unread());
    if (outcome == Outcome::closed) fail("the reward {} {}: {}{}", name_, child_->ending(kWaitForEnding), questions.what_is_missing(), left);
    if (outcome == Outcome::endless)
      fail("the reward {} wrote a line of more than {} bytes, where one is {{\"id\":0,\"score\":0.5}}: {}", name_, ChildProcess::kLongestLine,
           shown(child_->unread()));
    fail("the reward {} was not done after {} seconds: {}{}. Does it write its replies at once (flush after each line)? Else give it more time",
         name_, seconds_, questions.what_is_missing(), left);
  }

  std::string name_;
  Group& world_;
  double seconds_;
  std::unique_ptr<ChildProcess> child_;  // rank 0 only
  int64_t next_id_ = 0;
};

}  // namespace

std::unique_ptr<RewardSource> process_reward(const RewardSpec& spec, Group& world, double seconds) {
  return std::make_unique<ProcessReward>(spec, world, seconds);
}

}  // namespace skein
