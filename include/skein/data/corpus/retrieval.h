// Texts that ask for what stands far away in them, to see what a model's attention reaches.
#pragma once

#include <cstdint>
#include <string>

#include "skein/core/options/options.h"

namespace skein::data {

// Which end of a text asks: encoders are read at the first word, decoders at the last.
enum class AskingEnd { first, last };

struct RetrievalConfig {
  int64_t texts = 2000;
  int64_t distance = 1000;  // words between the pair and the asking word
  int64_t beyond = 64;      // up to so many words on the pair's other side
  int64_t pairs = 1;        // of a key and its value, of which one is asked for
  int64_t keys = 16;        // kinds of keys,
  int64_t values = 16;      // values
  int64_t noise = 64;       // and words between
  AskingEnd ask = AskingEnd::last;
  uint64_t seed = 1;
  std::string output;
  std::string vocabulary;  // "": none is written
  bool replace = false;    // files that are there already
};
// Binds the fields under sections "retrieval" and "output".
void bind(Options& options, RetrievalConfig& config);

// A TSV of two columns, text and label, as the fine-tuning of labels reads them. A text that asks
// last is up to `beyond` words of noise, a key and its value, `distance` words of noise, and the
// key as a question; one that asks first has the question ahead, `distance` words, the pair, and
// the rest. The label is the value. Each further pair, with another key, replaces two words of
// noise next to each other; it is equally likely how many of them stand beyond the one that is
// asked for. All is drawn: a pure function of the seed and the text's number. The vocabulary is a
// BERT vocab.txt of all words. Throws usage errors for numbers that cannot be.
void write_retrieval(const RetrievalConfig& config);

}  // namespace skein::data
