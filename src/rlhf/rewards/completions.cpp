#include "skein/rlhf/rewards/completions.h"

#include <algorithm>
#include <iterator>

#include "skein/core/json.h"
#include "skein/core/log.h"
#include "skein/rlhf/rewards/best_of.h"

namespace skein::rlhf::rewards {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string line_of(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson listed(const generate::Turns& turns) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [role, content] : turns) list.push_back({{"role", role}, {"content", content}});
  return list;
}

// What was given, as data for tuning has it.
OrderedJson prompt_of(const generate::Turns& given) {
  return given.size() == 1 ? OrderedJson(given.front().content) : listed(given);
}

OrderedJson record_of(const Completions& all, size_t answer) {
  const generate::Turns& turns = all.questions[all.question_of(answer)].turns;
  const bool scored = !all.scores.sums.empty();
  OrderedJson json;
  if (scored)
    json["prompt"] = prompt_of(all.given[all.question_of(answer)]);
  else if (turns.size() == 1)
    json["prompt"] = turns.front().content;
  else
    json["messages"] = listed(turns);
  json["completion"] = all.texts[answer];
  const generate::Continuation& made = all.answers[answer];
  json["tokens"] = made.tokens;
  if (!made.log_probabilities.empty()) json["logprobs"] = made.log_probabilities;
  json["finish"] = made.ended ? "end" : made.stopped ? "stop" : "length";
  if (all.searched) json["score"] = made.score;
  if (!scored) return json;
  json["score"] = all.scores.sums[answer];
  for (const auto& [label, scores] : all.scores.sources) json["scores"][label] = scores[answer];
  return json;
}

std::string result_of(const Completions& all, size_t answer, generate::PromptFormat format,
                      bool continued) {
  if (format == generate::PromptFormat::jsonl) return line_of(record_of(all, answer));
  const size_t question = all.question_of(answer);
  const bool compared = all.searched && all.ends[question] - all.begin(question) > 1;
  return (continued ? all.questions[question].turns.front().content : "") + all.texts[answer] +
         (compared ? fmt::format("\n--- {:.6f}\n", all.answers[answer].score) : "\n---\n");
}

// A record of preferences; "" where all answers read the same.
std::string ranked_of(const Completions& all, size_t question) {
  const size_t first = all.begin(question), count = all.ends[question] - first;
  const RankedAnswers ranked =
      ranked_answers(std::span(all.texts).subspan(first, count), all.scores.of(first, count));
  if (ranked.order.size() < 2) return "";
  OrderedJson json{{"prompt", prompt_of(all.given[question])},
                   {"answers", OrderedJson::array()},
                   {"ranks", ranked.ranks},
                   {"scores", OrderedJson::array()}};
  for (size_t i : ranked.order) {
    json["answers"].push_back(all.texts[first + i]);
    json["scores"].push_back(all.scores.sums[first + i]);
  }
  return line_of(json);
}

// The index of the best answer to a question.
size_t best_to(const Completions& all, size_t question) {
  const size_t first = all.begin(question), count = all.ends[question] - first;
  return all.scores.sums.empty() ? 0 : first + best_of(all.scores.of(first, count));
}

void tell_scores(const Completions& all) {
  if (all.scores.sums.empty()) return;
  double best = 0, mean = 0;
  for (size_t question = 0; question < all.questions.size(); ++question)
    best += all.scores.sums[best_to(all, question)] / all.questions.size();
  for (double score : all.scores.sums) mean += score / all.scores.sums.size();
  log::info("mean score {:.4f} of all answers, {:.4f} of the best to each prompt", mean, best);
}

std::string kept_to(const Completions& all, size_t question, KeptAnswers kept,
                    generate::PromptFormat format, bool continued) {
  if (kept == KeptAnswers::ranked) return ranked_of(all, question);
  if (kept == KeptAnswers::best) return result_of(all, best_to(all, question), format, continued);
  std::string text;
  for (size_t i = all.begin(question); i < all.ends[question]; ++i)
    text += result_of(all, i, format, continued);
  return text;
}

}  // namespace

void Completions::add(std::vector<generate::Continuation> more) {
  answers.insert(answers.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  ends.push_back(answers.size());
}

size_t Completions::question_of(size_t answer) const {
  return std::upper_bound(ends.begin(), ends.end(), answer) - ends.begin();
}

std::vector<Answer> answers_to_score(const Completions& all,
                                     const std::vector<generate::Tokens>& prompts, int32_t end,
                                     const generate::TextOf& text_of) {
  std::vector<Answer> made;
  for (size_t i = 0; i < all.answers.size(); ++i) {
    const size_t question = all.question_of(i);
    const generate::Continuation& one = all.answers[i];
    made.push_back(
        {{prompts[i], all.given[question], all.questions[question].record,
          static_cast<int64_t>(question)},
         all.texts[i],
         one.stopped ? generate::tokens_saying(all.texts[i], one.tokens, text_of) : one.tokens,
         one.ended,
         one.stopped});
    if (one.ended) made.back().tokens.push_back(end);
  }
  return made;
}

std::string kept_text(const Completions& all, KeptAnswers kept, generate::PromptFormat format,
                      bool continued) {
  std::string text;
  size_t alike = 0;
  for (size_t question = 0; question < all.questions.size(); ++question) {
    const std::string one = kept_to(all, question, kept, format, continued);
    alike += one.empty();
    text += one;
  }
  if (alike > 0)
    log::info("{} of {} prompts got one answer only, time and again, and are left out", alike,
              all.questions.size());
  tell_scores(all);
  return text;
}

}  // namespace skein::rlhf::rewards
