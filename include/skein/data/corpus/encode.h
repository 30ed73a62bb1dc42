// Makes token stores out of a corpus: reads, encodes on all threads and writes in the order of the
// input. The stores depend on the input, the tokenizer and the seed only, not on the number of
// threads. Memory is bounded whatever the size of the corpus.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/data/corpus/corpus.h"
#include "skein/data/files/progress.h"
#include "skein/data/stores/store.h"
#include "skein/text/tokenizer.h"

namespace skein::data {

struct EncodeConfig {
  CorpusOptions corpus;
  std::string output;
  std::string validation;             // "" for no held-out part
  bool replace = false;               // stores that are there already
  double validation_fraction = 0.05;  // in (0, 1)
  uint64_t seed = 0;                  // of the choice of held-out documents
  int threads = 0;                    // 0: one for each processor
  std::vector<int32_t> before{};      // ids that each document begins with
};

struct EncodeSummary {
  StoreInfo training;
  StoreInfo validation;  // no documents where none were asked for
  int64_t bad_lines = 0;
  int64_t without_tokens = 0;  // documents of which the tokenizer makes none; left out
  double seconds = 0;
};

// The held-out part is, of a single plain-text document, its last `validation_fraction`, from the
// first line on that follows a blank one, if that begins in the first tenth of the part and within
// 64 KiB, or from its first line on; else every document that held_out() chooses. A usage error
// when a part would be empty, when an output is one of the inputs or as check_output says, and as
// CorpusReader; no output is then left behind or changed.
EncodeSummary encode_corpus(const std::vector<std::string>& inputs,
                            const text::Tokenizer& tokenizer, const EncodeConfig& config,
                            const ProgressCall& progress = {});

// Whether a document is held out: independent draws that depend on seed and number only.
bool held_out(uint64_t seed, int64_t document, double fraction);

// Threads to use where `wanted` is what the user asked for, 0 standing for all processors.
int worker_threads(int wanted);

}  // namespace skein::data
