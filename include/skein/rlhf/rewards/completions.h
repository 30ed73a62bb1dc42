// What a model has answered to the questions of a command, and the text that is written of it.
#pragma once

#include <string>
#include <vector>

#include "skein/generate/answer_text.h"
#include "skein/generate/generator.h"
#include "skein/generate/prompts.h"
#include "skein/rlhf/rewards/answers.h"

namespace skein::rlhf::rewards {

struct Completions {
  std::vector<generate::Question> questions;
  std::vector<generate::Turns> given;  // for each question the turns that the model was given
  std::vector<generate::Continuation> answers;  // those to a question follow each other
  std::vector<size_t> ends;        // by question: the number of the first answer behind its own
  bool searched = false;           // by beams, which score answers, too
  std::vector<std::string> texts;  // that the answers say
  AnswerScores scores{};           // none where nothing scores them

  // Those to the next question.
  void add(std::vector<generate::Continuation> more);
  size_t begin(size_t question) const { return question == 0 ? 0 : ends[question - 1]; }
  size_t question_of(size_t answer) const;
};

// The answers as rewards are given them: of those that were stopped what is before that text.
// prompts: the tokens before each answer; end: the token that ends one.
std::vector<Answer> answers_to_score(const Completions& all,
                                     const std::vector<generate::Tokens>& prompts, int32_t end,
                                     const generate::TextOf& text_of);

// The answers that are kept (ranked: all in one record of preferences, docs/reward.md), in the
// order of their questions. text: each followed by a line of "---", in which the score of one
// stands that was searched beside others, and behind its prompt where it continues a text; jsonl: a
// record each, in which bytes that are no UTF-8 are U+FFFD, as a model may stop inside of a
// character. continued: answers go on where their prompts end. The log says how many questions got
// one answer only, and the mean scores.
std::string kept_text(const Completions& all, KeptAnswers kept, generate::PromptFormat format,
                      bool continued);

}  // namespace skein::rlhf::rewards
