#include "preference_record.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "conversation_record.h"
#include "preference_fields.h"

namespace skein::data {
namespace {

using Json = nlohmann::json;

constexpr const char* kAnswer = "answer";

bool same_turns(const std::vector<text::Message>& a, const std::vector<text::Message>& b,
                size_t count) {
  return std::equal(a.begin(), a.begin() + count, b.begin(), b.begin() + count,
                    [](const text::Message& x, const text::Message& y) {
                      return x.role == y.role && x.content == y.content;
                    });
}

void require_question(const std::vector<text::Message>& prompt, const std::string& where) {
  require(!prompt.empty(), "{}: there is no prompt before the answer", where);
  require(prompt.back().role != "assistant",
          "{}: the last turn of the prompt is the assistant's, so there is nothing to answer",
          where);
  require(alternating_turns(prompt, "prompt", where) > 0, "{}: the prompt is of the system alone",
          where);
}

// Two dialogues that end in the answers to compare.
RecordOutcome compare_dialogues(const std::vector<text::Message>& chosen,
                                const std::vector<text::Message>& rejected,
                                DivergingDialogues diverging, const std::string& where,
                                PreferenceRecord& record) {
  for (const auto* turns : {&chosen, &rejected})
    require(turns->back().role == "assistant",
            "{}: the last turn is the {}'s, not an answer of the assistant", where,
            turns->back().role);
  size_t last = std::min(chosen.size(), rejected.size()) - 1;
  const bool same = chosen.size() == rejected.size() && same_turns(chosen, rejected, last);
  if (!same && diverging == DivergingDialogues::drop) return RecordOutcome::diverging;
  if (!same) {
    size_t first = 0;
    while (first < last && same_turns(chosen, rejected, first + 1)) ++first;
    last = first;
    // Nothing differs where one is the beginning of the other.
    if (chosen[last].role != "assistant" || rejected[last].role != "assistant" ||
        skein::trimmed(chosen[last].content) == skein::trimmed(rejected[last].content))
      return RecordOutcome::diverging;
  }
  record.prompt.assign(chosen.begin(), chosen.begin() + last);
  record.answers = {chosen[last].content, rejected[last].content};
  record.dialogue = true;
  require_question(record.prompt, where);
  return same ? RecordOutcome::used : RecordOutcome::diverging;
}

void pair_grades(const Fields& fields, PreferenceRecord& record) {
  record.values = {1, 0};
  record.grades = {0, 0};
  if (fields.names("score_chosen") || fields.names("score_rejected"))
    record.grades = {fields.number("score_chosen"), fields.number("score_rejected")};
  else if (fields.names("margin"))
    record.grades = {fields.number("margin"), 0};
}

RecordOutcome read_pair(const Fields& fields, DivergingDialogues diverging,
                        PreferenceRecord& record) {
  const bool lists = fields.at("chosen").is_array();
  pair_grades(fields, record);
  if (!lists) {
    record.prompt = fields.turns("prompt");
    record.dialogue = fields.at("prompt").is_array();
    record.answers = {fields.answer("chosen"), fields.answer("rejected")};
    require_question(record.prompt, fields.where());
    return RecordOutcome::used;
  }
  std::vector<text::Message> chosen = fields.messages("chosen"),
                             rejected = fields.messages("rejected");
  for (auto* turns : {&chosen, &rejected}) {
    if (turns->size() > 1) continue;
    const std::vector<text::Message> prompt = fields.turns("prompt");
    turns->insert(turns->begin(), prompt.begin(), prompt.end());
  }
  return compare_dialogues(chosen, rejected, diverging, fields.where(), record);
}

RecordOutcome read_dialogues(const Fields& fields, DivergingDialogues diverging,
                             PreferenceRecord& record) {
  pair_grades(fields, record);
  std::vector<text::Message> turns[2];
  for (int i = 0; i < 2; ++i) {
    const char* key = i == 0 ? "chosen" : "rejected";
    turns[i] = dialogue_turns(fields.text(key));
    require(turns[i].size() > 1,
            "{}: \"{}\" is no dialogue of \"\\n\\nHuman:\" and \"\\n\\nAssistant:\" turns, and "
            "there is no \"prompt\"",
            fields.where(), key);
  }
  return compare_dialogues(turns[0], turns[1], diverging, fields.where(), record);
}

// As "Learning to summarize from human feedback" fed them to its models.
std::string summary_prompt(const Fields& info) {
  const auto line = [&](const char* key, const char* before) {
    return info.has(key) ? before + info.text(key) + "\n\n" : "";
  };
  if (info.has("post"))
    return line("subreddit", "SUBREDDIT: r/") + line("title", "TITLE: ") +
           "POST: " + info.text("post") + "\n\nTL;DR:";
  return line("title", "Title: ") + "Article: " + info.text("article") + "\n\nTL;DR:";
}

void read_summaries(const Fields& fields, PreferenceRecord& record) {
  const Json &info = fields.at("info"), &summaries = fields.at("summaries");
  require(info.is_object(), "{}: \"info\" is a JSON {}, not an object", fields.where(),
          info.type_name());
  require(summaries.is_array() && summaries.size() == 2, "{}: \"summaries\" is no list of two",
          fields.where());
  record.prompt = {{"user", summary_prompt(Fields(info, fields.where()))}};
  for (const Json& summary : summaries)
    record.answers.push_back(fields.object_of(summary, "summaries", "\"text\"").answer("text"));
  record.values = {0, 0};
  record.values[fields.integer("choice", 0, 1)] = 1;
}

void read_best_of(const Fields& fields, PreferenceRecord& record) {
  record.kind = PreferenceKind::best;
  record.prompt = fields.turns("query");
  for (int i = 0; fields.has(fmt::format("sample{}", i)); ++i)
    record.answers.push_back(fields.answer(fmt::format("sample{}", i)));
  require(record.answers.size() > 1,
          "{}: there are {} samples (sample0, sample1, ...), too few to choose of", fields.where(),
          record.answers.size());
  record.values.assign(record.answers.size(), 0);
  record.values[fields.integer("best", 0, std::ssize(record.answers) - 1)] = 1;
}

void read_shp(const Fields& fields, PreferenceRecord& record) {
  record.prompt = fields.turns("history");
  record.answers = {fields.answer("human_ref_A"), fields.answer("human_ref_B")};
  const double first = fields.integer("labels", 0, 1);
  record.values = {first, 1 - first};
}

void read_completions(const Fields& fields, PreferenceRecord& record) {
  record.prompt = fields.turns("instruction");
  for (const Json& completion : fields.at("completions")) {
    const Fields one =
        fields.object_of(completion, "completions", "\"response\" and \"overall_score\"");
    record.answers.push_back(one.answer("response"));
    record.values.push_back(one.number("overall_score"));
  }
  record.grades = record.values;
}

void read_ranked(const Fields& fields, PreferenceRecord& record) {
  if (!fields.has("ranks")) return read_completions(fields, record);
  record.prompt = fields.turns("prompt");
  record.answers = fields.answers(fields.which({"answers", "responses", "completions"}));
  for (double rank : fields.numbers("ranks", record.answers.size())) record.values.push_back(-rank);
  if (fields.has("scores")) record.grades = fields.numbers("scores", record.answers.size());
}

void read_scored(const Fields& fields, PreferenceRecord& record) {
  record.kind = PreferenceKind::scored;
  record.prompt = fields.turns("prompt");
  if (fields.has("scores")) {
    record.answers = fields.answers(fields.which({"answers", "responses", "completions"}));
    record.values = fields.numbers("scores", record.answers.size());
  } else {
    record.answers = {fields.answer(fields.which({kAnswer, "response", "completion"}))};
    record.values = {fields.number("score")};
  }
}

std::string one_answer(const Fields& fields, const std::string& key) {
  if (!fields.at(key).is_array()) return fields.answer(key);
  const std::vector<text::Message> turns = fields.messages(key);
  require(turns.size() == 1 && turns.front().role == "assistant",
          "{}: \"{}\" has {} messages, the first of the {}, not one of the assistant",
          fields.where(), key, turns.size(), turns.front().role);
  return turns.front().content;
}

void read_labelled(const Fields& fields, PreferenceRecord& record) {
  record.kind = PreferenceKind::scored;
  record.labelled = true;
  record.prompt = fields.turns("prompt");
  record.dialogue = fields.at("prompt").is_array();
  record.answers = {one_answer(fields, fields.which({kAnswer, "response", "completion"}))};
  record.values.assign(1, fields.integer("label", 0, 1));
}

RecordOutcome read_by_layout(const Fields& fields, PreferenceLayout layout,
                             DivergingDialogues diverging, PreferenceRecord& record) {
  switch (layout) {
    case PreferenceLayout::pairs: return read_pair(fields, diverging, record);
    case PreferenceLayout::dialogues: return read_dialogues(fields, diverging, record);
    case PreferenceLayout::summaries: read_summaries(fields, record); break;
    case PreferenceLayout::best_of: read_best_of(fields, record); break;
    case PreferenceLayout::shp: read_shp(fields, record); break;
    case PreferenceLayout::ranked: read_ranked(fields, record); break;
    case PreferenceLayout::scored: read_scored(fields, record); break;
    case PreferenceLayout::labelled: read_labelled(fields, record); break;
    case PreferenceLayout::automatic: SKEIN_CHECK(false);
  }
  require_question(record.prompt, fields.where());
  if (record.prompt.size() > 1) record.dialogue = true;
  return RecordOutcome::used;
}

// Answers that read the same cannot be told apart.
void check_answers(const PreferenceRecord& record, const std::string& where) {
  require(!record.answers.empty() && record.answers.size() <= kMostAnswers,
          "{}: {} answers to one prompt; there must be from 1 to {}", where, record.answers.size(),
          kMostAnswers);
  if (record.kind == PreferenceKind::scored) return;
  for (size_t i = 0; i < record.answers.size(); ++i)
    for (size_t k = 0; k < i; ++k)
      require(skein::trimmed(record.answers[i]) != skein::trimmed(record.answers[k]) ||
                  record.values[i] == record.values[k],
              "{}: one answer is said to be better than another, but both are \"{}\"", where,
              excerpt(skein::trimmed(record.answers[i])));
}

}  // namespace

PreferenceLayout layout_of(const Json& object) {
  const auto has = [&](const char* key) { return object.contains(key); };
  const bool answers = has("answers") || has("responses") || has("completions"),
             answer = has(kAnswer) || has("response") || has("completion");
  if (has("chosen") && has("rejected"))
    return has("prompt") || object["chosen"].is_array() ? PreferenceLayout::pairs
                                                        : PreferenceLayout::dialogues;
  if (has("summaries") && has("choice")) return PreferenceLayout::summaries;
  if (has("query") && has("best")) return PreferenceLayout::best_of;
  if (has("human_ref_A") && has("human_ref_B")) return PreferenceLayout::shp;
  if ((has("prompt") && answers && has("ranks")) || (has("instruction") && has("completions")))
    return PreferenceLayout::ranked;
  if (has("prompt") && ((answers && has("scores")) || (answer && has("score"))))
    return PreferenceLayout::scored;
  if (has("prompt") && answer && has("label")) return PreferenceLayout::labelled;
  return PreferenceLayout::automatic;
}

RecordOutcome read_record(const Json& object, PreferenceLayout layout, DivergingDialogues diverging,
                          const std::string& where, PreferenceRecord& record) {
  const RecordOutcome outcome = read_by_layout(Fields(object, where), layout, diverging, record);
  if (outcome == RecordOutcome::diverging && record.answers.empty()) return outcome;
  record.grades.resize(record.answers.size());
  check_answers(record, where);
  if (record.kind == PreferenceKind::scored) return outcome;
  const auto [least, most] = std::minmax_element(record.values.begin(), record.values.end());
  return *least == *most ? RecordOutcome::tied : outcome;
}

void read_demonstration(const Json& object, const std::string& where, PreferenceRecord& record) {
  const Fields fields(object, where);
  record.kind = PreferenceKind::scored;
  std::vector<text::Message> turns;
  const std::string answer = fields.which({kAnswer, "completion", "response", "output", "chosen"});
  if (!fields.has(answer) && fields.has("messages"))
    turns = fields.messages("messages");
  else if (fields.at(answer).is_array())
    turns = fields.messages(answer);
  else if (answer == "chosen" && !fields.has("prompt"))
    turns = dialogue_turns(fields.text(answer));
  else
    turns = {{"assistant", fields.answer(answer)}};
  require(!turns.empty() && turns.back().role == "assistant",
          "{}: the last turn is no answer of the assistant", where);
  record.answers = {turns.back().content};
  turns.pop_back();
  record.prompt =
      turns.empty() ? fields.turns(fields.which({"prompt", "instruction", "question"})) : turns;
  record.dialogue = record.prompt.size() > 1;
  require_question(record.prompt, where);
  record.values = record.grades = {0};
  check_answers(record, where);
}

}  // namespace skein::data
