// Learns a tokenizer from a corpus on all threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skein/data/corpus/corpus.h"
#include "skein/data/files/progress.h"
#include "skein/text/tokenizer.h"
#include "skein/text/train_tokenizer.h"

namespace skein::data {

struct LearnConfig {
  CorpusOptions corpus;
  text::TrainerSettings trainer;
  int threads = 0;  // 0: one for each processor
};

struct LearntTokenizer {
  std::unique_ptr<text::Tokenizer> tokenizer;  // of fewer ids than asked for when pairs ran out
  int64_t documents = 0;
  int64_t bytes = 0;  // of text
  int64_t words = 0;
  int64_t distinct_words = 0;
  int64_t unknown_words = 0;  // of whole words: those that are not in the vocabulary
  int64_t bad_lines = 0;
  double seconds = 0;
};

// Memory grows with the number of distinct words, not with the text. A usage error as CorpusReader
// and TokenizerTrainer, and when the inputs hold no text.
LearntTokenizer learn_tokenizer(const std::vector<std::string>& inputs, const LearnConfig& config,
                                const ProgressCall& progress = {});

// Writes to_json() to `path`, in one step instead of a file that is there, or into a pipe or a
// device.
void save_tokenizer(const text::Tokenizer& tokenizer, const std::string& path,
                    ExistingFile existing = ExistingFile::replace);

// Writes tokenizer_files() into a folder, which is made if it is not there; returns the paths. A
// usage error, before any is written, as make_result_folder and check_output.
std::vector<std::string> export_tokenizer(const text::Tokenizer& tokenizer,
                                          const std::string& folder,
                                          ExistingFile existing = ExistingFile::replace);

}  // namespace skein::data
