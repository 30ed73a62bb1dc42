// Answers that people compared or graded, out of JSONL files in the layouts that are around.
//
//   PreferencesConfig config{.files = {"train.jsonl.gz"}};
//   const Preferences data = read_preferences(config);
//
// Layouts, one a file, found from the first record or given:
//   pairs      prompt, chosen, rejected: strings, or lists of {role, content} whose last one is the
//              answer and whose first ones, where there are more, are the prompt (UltraFeedback);
//              score_chosen and score_rejected, or margin, are their grades
//   dialogues  chosen, rejected: whole dialogues of "\n\nHuman:" and "\n\nAssistant:" turns
//              (Anthropic's HH-RLHF)
//   summaries  info {post or article, title, subreddit}, summaries [{text}, {text}], choice
//              (OpenAI)
//   best_of    query, sample0, sample1, ..., best (lm-human-preferences)
//   shp        history, human_ref_A, human_ref_B, labels: 1 where A is better (Stanford Human
//              Preferences)
//   ranked     prompt, answers [...], ranks [...]: 1 is the best, equal ranks are not told apart;
//              scores [...] may stand beside them as grades; or instruction, completions
//              [{response, overall_score}] (raw UltraFeedback), ranked and graded by the score
//   scored     prompt, answer, score; or prompt, answers [...], scores [...]
//   labelled   prompt, answer, label: true where the answer is good, else false (also 1 and 0); the
//              answer may be a list of one message. A score of 1 or 0 (TRL's unpaired preferences)
//
// `response`, `responses` and `completions` may stand for `answer` and `answers`. prompt is a
// string or a list of {role, content}. An answer may be empty: the token that ends it is all of it.
// gzip, xz and zstd are read through; empty lines are passed over.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/data/samples/preference_samples.h"
#include "skein/text/template.h"

namespace skein::data {

enum class PreferenceLayout {
  automatic,
  pairs,
  dialogues,
  summaries,
  best_of,
  shp,
  ranked,
  scored,
  labelled
};
// What becomes of two dialogues that differ before their last turns: they are left out, or their
// first answers that differ are compared.
enum class DivergingDialogues { drop, keep };

struct PreferencesConfig {
  std::vector<std::string> files{};  // "-" for stdin
  PreferenceLayout layout = PreferenceLayout::automatic;
  DivergingDialogues diverging = DivergingDialogues::drop;
  // so many that cannot be used are left out and told of, before one is an error
  int64_t bad_records = 0;
  int64_t most_record_bytes = int64_t{16} << 20;
};

struct PreferenceRecord {
  PreferenceKind kind = PreferenceKind::ranked;
  std::vector<text::Message> prompt;  // ends in a user's turn
  std::vector<std::string> answers;   // at least 2, of scored 1; may be empty
  std::vector<double> values;         // as KnownColumn has them
  std::vector<double> grades;         // of each answer, 0 where nothing is known
  bool dialogue = false;              // the prompt came as turns, not as one text
  bool labelled = false;              // of one answer, whose value is its label: 1 or 0
  int64_t file = 0, line = 0;         // index into PreferencesConfig::files, and line from 1
};

struct Preferences {
  std::vector<PreferenceRecord> records;
  int64_t diverging = 0;  // dialogues that differ before their last turns
  int64_t tied = 0;       // records without an answer that is better than another; left out
  int64_t bad = 0;
};

// Answers of one prompt, at most.
constexpr size_t kMostAnswers = 256;

// All records in order. A usage error naming file and line for: no JSON object, fields that are
// missing or of another type, an empty prompt, turns of a prompt out of order, answers of which one
// is better though they are the same but for white space around them, numbers that are not finite,
// lists of different lengths; for a record of no known layout where none before it has said the
// file's, with its fields; and for files without any record that can be used.
Preferences read_preferences(const PreferencesConfig& config);

// Prompts with an answer each that is known to be good, as scored records of score 0: of prompt and
// answer (also completion, response, output or chosen), or of messages whose last one is the
// answer. Usage errors as above.
Preferences read_demonstrations(const PreferencesConfig& config);

// Turns of "\n\nHuman:" and "\n\nAssistant:"; those that follow one of the same speaker are joined
// to it by an empty line. Empty where text does not begin with one of them.
std::vector<text::Message> dialogue_turns(const std::string& text);

}  // namespace skein::data
