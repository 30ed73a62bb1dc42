// Learns a byte-level BPE tokenizer from a corpus on all threads.
#pragma once

#include "skein/data/corpus.h"
#include "skein/data/progress.h"
#include "skein/text/tokenizer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace skein {

struct LearnConfig {
  CorpusOptions corpus;
  int64_t vocab_size = 4096;  // with 256 bytes and end-of-text
  int64_t min_frequency = 2;  // pairs that occur less often are not merged
  int threads = 0;            // 0: one for each processor
};

struct LearntTokenizer {
  std::unique_ptr<Tokenizer> tokenizer;  // of fewer ids than asked for when pairs ran out
  int64_t documents = 0;
  int64_t bytes = 0;  // of text
  int64_t words = 0;
  int64_t distinct_words = 0;
  int64_t bad_lines = 0;
  double seconds = 0;
};

// Memory grows with the number of distinct words, not with the text. A usage error as CorpusReader and
// BpeTrainer::train, and when the inputs hold no text.
LearntTokenizer learn_tokenizer(const std::vector<std::string>& inputs, const LearnConfig& config,
                                const ProgressCall& progress = {});

// Writes to_json() to `path`, replacing what is there in one step.
void save_tokenizer(const Tokenizer& tokenizer, const std::string& path);

}  // namespace skein
