#include "reward_questions.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/numbers.h"
#include "skein/core/strict_json.h"

#include "reward_sources.h"

namespace skein::rlhf::rewards {
namespace {

using Json = nlohmann::json;

// Each open list takes much more memory than its byte.
constexpr int kMostDepth = 32;

std::string request_line(int64_t id, const Answer& answer) {
  const Prompt& prompt = answer.prompt;
  const Json record = prompt.record.empty() ? Json() : Json::parse(prompt.record, nullptr, false);
  Json request{{"id", id},
               {"prompt", prompt.text()},
               {"messages", Json::array()},
               {"response", answer.text},
               {"ended", answer.ended}};
  for (const auto& [role, content] : prompt.messages)
    request["messages"].push_back({{"role", role}, {"content", content}});
  request["record"] = record.is_object() ? record : Json::object();
  return request.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Json reply_object(std::string_view line, const std::string& who, int64_t first) {
  bool deep = false;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kMostDepth;
    return depth <= kMostDepth;  // what lies deeper is not kept
  };
  Json reply;
  std::string why = "no JSON object";
  try {
    reply = Json::parse(line, watch);
  } catch (const Json::exception& error) {
    why = std::string(error.what()).find("number overflow") != std::string::npos
              ? "a number that is not finite"
              : "no JSON";
  }
  if (deep) why = fmt::format("no JSON object within {} levels", kMostDepth);
  if (deep || !reply.is_object())
    fail("the reward {} wrote {}: {}; it must write lines like {{\"id\":{},\"score\":0.5}}", who,
         why, shown(line), first);
  return reply;
}

// The index of the answer, and its score.
std::pair<size_t, double> parsed_reply(std::string_view line, const std::string& who,
                                       std::span<const Answer> answers, int64_t first_id) {
  const Json reply = reply_object(line, who, first_id);
  const auto id = reply.find("id"), score = reply.find("score");
  if (id == reply.end() || !id->is_number_integer())
    fail("the reward {} wrote no whole number as \"id\": {}", who, shown(line));
  const auto last = first_id + std::ssize(answers) - 1;
  const bool asked =
      is_whole<int64_t>(*id) && id->get<int64_t>() >= first_id && id->get<int64_t>() <= last;
  if (!asked)
    fail("the reward {} scored id {}, but was asked for ids {} to {}: {}", who, id->dump(),
         first_id, last, shown(line));
  const size_t index = id->get<int64_t>() - first_id;
  if (score == reply.end() || !score->is_number() || !std::isfinite(score->get<double>()))
    fail("the reward {} wrote no number as \"score\" of prompt {}: {}", who,
         answers[index].prompt.number, shown(line));
  return {index, score->get<double>()};
}

}  // namespace

bool is_blank_reply(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string RewardQuestions::lines() const {
  std::string text;
  for (size_t i = 0; i < answers_.size(); ++i) text += request_line(first_id_ + i, answers_[i]);
  return text;
}

bool RewardQuestions::take(std::string_view line) {
  if (is_blank_reply(line)) return missing_ == 0;
  const auto [index, score] = parsed_reply(line, who_, answers_, first_id_);
  if (scores_[index])
    fail("the reward {} scored id {}, of prompt {}, twice: {}", who_,
         first_id_ + static_cast<int64_t>(index), answers_[index].prompt.number, shown(line));
  scores_[index] = score;
  --missing_;
  return missing_ == 0;
}

std::vector<double> RewardQuestions::scores() const {
  std::vector<double> all;
  for (const auto& score : scores_) all.push_back(score.value());
  return all;
}

std::string RewardQuestions::what_is_missing() const {
  const auto first = std::find(scores_.begin(), scores_.end(), std::nullopt);
  if (first == scores_.end())
    return fmt::format("it has scored all {} answers, but not read all of them", scores_.size());
  return fmt::format("prompt {} has no score, as {} of {} answers",
                     answers_[static_cast<size_t>(first - scores_.begin())].prompt.number, missing_,
                     scores_.size());
}

}  // namespace skein::rlhf::rewards
