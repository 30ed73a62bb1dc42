// Stores of stories: records of which each is a question with the sentences before it
// (docs/record-store.md).
//
// Columns:
//   word             categories, any number a record: those of the sentences, then the question's
//   sentence_starts  u32, sentences + 2 rows: where in the words each sentence begins, where the
//                    question does, and their number
//   support          u32, any number a record: sentences, from 0, that the answer follows from
//   answer           categories, with the names that words have; the first name is kUnknownWord
//   task             categories
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/columns/records.h"
#include "skein/data/stories/story_files.h"

namespace skein::data {

// The first word of every vocabulary: what stands for words and answers that a given one lacks. No
// answer that is so can be found.
inline constexpr const char* kUnknownWord = "<unknown>";

// text: a TSV of text, label and task instead, for models that read texts.
enum class StoryForm { records, text };

struct StoryStoreConfig {
  StoryFilesConfig files{};
  // Whose words are known: a store of stories, or a text with a word a line; "": all that there
  // are, by bytes.
  std::string vocabulary{};
  double validation_fraction = 0;  // of stories that go to `validation` instead
  uint64_t seed = 1;               // says which
  StoryForm form = StoryForm::records;
  std::string output{}, validation{};
  bool replace = false;
};
// Binds all but files.inputs and replace: section "stories", output.path and output.validation.
void bind(Options& options, StoryStoreConfig& config);

struct StoryCounts {
  int64_t stories = 0, questions = 0, held_out = 0;  // held_out: of the questions
  int64_t words = 0, tasks = 0;                      // of the vocabulary; 0 for a text
  int64_t unknown_words = 0, unknown_answers = 0;    // that a given vocabulary lacks
};

// Usage errors as read_stories; nothing is then left behind or changed. The stores depend on input
// and options alone.
StoryCounts write_stories(const StoryStoreConfig& config);

// A record of a store.
struct StoryRecord {
  std::vector<int32_t> words{};    // ids
  std::vector<int64_t> starts{};   // of the sentences and of the question; then the number of words
  std::vector<int64_t> support{};  // rising
  int32_t answer = 0, task = 0;

  int64_t sentences() const { return std::ssize(starts) - 2; }
};

class StoryRecords {
 public:
  // A usage error naming the store when it has not these columns.
  explicit StoryRecords(std::shared_ptr<const Records> records);

  const Records& records() const { return *records_; }
  const std::shared_ptr<const Records>& shared() const { return records_; }
  int64_t count() const { return records_->count(); }
  const std::vector<std::string>& vocabulary() const { return *vocabulary_; }
  const std::vector<std::string>& tasks() const { return *tasks_; }
  // A usage error for one that is damaged: starts that do not rise to the number of words, a
  // sentence without a word, support that is no sentence.
  StoryRecord record(int64_t number) const;

 private:
  std::vector<int64_t> numbers(size_t column, int64_t record) const;

  std::shared_ptr<const Records> records_;
  size_t words_, starts_, support_, answer_, task_;
  const std::vector<std::string>*vocabulary_, *tasks_;
};

// Whether records are stories.
bool holds_stories(const Records& records);

}  // namespace skein::data
