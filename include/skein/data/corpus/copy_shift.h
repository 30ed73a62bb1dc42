// Pairs of texts for a model to copy: a source of some words, and as its target the same words
// shifted by one, so that each target word but the last stands in the source, one place further on.
// The last one can only be guessed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/corpus/corpus.h"

namespace skein::data {

// Words as they stand in the text one after the other, or each drawn for itself as often as the
// text has it, so that none can be guessed by those before it.
enum class WordOrder { text, drawn };

struct CopyShiftConfig {
  int64_t words = 20;  // of a source, and of its target
  int64_t pairs = 0;   // to make; 0: as many as the text gives
  WordOrder order = WordOrder::text;
  uint64_t seed = 1;  // of drawn words
  CorpusOptions corpus = {};
  std::string output;
  bool replace = false;  // a file that is there already
};
// Binds the fields under sections "copy" and "output", but for those of the corpus.
void bind(Options& options, CopyShiftConfig& config);

struct CopyShiftCounts {
  int64_t pairs = 0;
  int64_t words = 0;  // of the text, as far as it was read
};

// A TSV of two columns, text and label: words w1 .. wL of the inputs, what white space divides, and
// w2 .. wL+1. In the text's order the next pair begins behind that, and none goes over the end of a
// document. Drawn words are a pure function of the text, the seed and the pair's number. A usage
// error for numbers that cannot be, as check_output and CorpusReader, and for a text that has fewer
// pairs than were asked for, or none.
CopyShiftCounts write_copy_shift(const std::vector<std::string>& inputs,
                                 const CopyShiftConfig& config);

}  // namespace skein::data
