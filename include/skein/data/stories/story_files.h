// Stories with questions about them, as the bAbI tasks come (Weston and others, "Towards
// AI-complete question answering", 2015).
//
//   1 Mary moved to the bathroom.
//   2 John went to the hallway.
//   3 Where is Mary?<tab>bathroom<tab>1
//
// Each line has a number, which begins anew with 1 in each story and rises in it. A line with tabs
// is a question: its answer, and the numbers of the sentences that it follows from, which may be
// missing. Sentences and questions become words in lower case without punctuation
// (text::folded_words). An answer is one word whatever it holds, such as "n,w".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/core/options/options.h"

namespace skein::data {

struct StoryQuestion {
  int64_t sentences = 0;  // of the story that come before it
  std::vector<std::string> words{};
  std::string answer{};
  std::vector<int64_t> support{};  // numbers of those sentences from 0, rising
  std::string where{};             // file and line
};

struct Story {
  std::string task{};  // the file's name without what says _train, _test or _valid
  std::string where{};
  std::vector<std::vector<std::string>> sentences{};
  std::vector<StoryQuestion> questions{};
};

struct StoryFilesConfig {
  // Files, plain or compressed; tar and zip archives; folders; "-" for stdin.
  std::vector<std::string> inputs{};
  // Of archives and folders the files in whose name this stands; "": all.
  std::string part{};
};
// Binds all but inputs under section "stories".
void bind(Options& options, StoryFilesConfig& config);

// All of them, in the order of the input. Usage errors name file and line: for numbers that are
// none, do not begin with 1 or do not rise, or are above a million; for sentences and questions
// without a word; for an answer that is empty; for support that is no earlier sentence of the
// story; for more than 4,096 sentences a story. Files without a question are errors too.
std::vector<Story> read_stories(const StoryFilesConfig& config);

}  // namespace skein::data
