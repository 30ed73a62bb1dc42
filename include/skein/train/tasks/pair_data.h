// Pairs of texts as a model that maps sources is fed them, to learn and to be judged by.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/corpus/encode_pairs.h"
#include "skein/data/samples/two_sided_samples.h"
#include "skein/generate/continuation.h"
#include "skein/models/config.h"
#include "skein/parallel/layout.h"
#include "skein/train/tasks/label_head.h"
#include "skein/train/token_scores.h"

namespace skein::train {

// The same, read from these columns.
data::PairsConfig with_columns(const data::PairsConfig& pairs, const LabelColumns& columns);

// How pairs are read and formed for a model.
struct PairReading {
  data::PairsConfig pairs;  // files: not used
  data::PairTokenizers tokenizers;
  data::PairForm form;
  data::TwoSidedConfig sides;  // settled
  data::TwoSidedOrder order;   // but for groups and seed
};

// A usage error for a model that reads no sources, or knows fewer ids than the tokenizers have, and
// as data::settled and data::pair_form.
PairReading pair_reading(const ModelConfig& model, const data::PairsConfig& pairs,
                         const data::PairTokenizers& tokenizers, const data::TwoSidedConfig& sides,
                         const ParallelConfig& parallel);

// Files or stores of pairs, with a weight each, to learn from; tells how many they are.
data::TwoSidedSamples training_pairs(const data::PairBlend& blend, const PairReading& reading,
                                     uint64_t seed, bool shuffle);

// What is wanted of a model, text by text.
struct WantedTexts {
  std::vector<generate::Tokens> prompts;             // sources with what stands around them
  std::vector<std::string> sources;                  // with their prefix
  std::vector<std::vector<std::string>> references;  // at least one of each

  // How many each has; 0 where that varies.
  int64_t references_each() const;
};

// Pairs that a model is judged by: all of them, however they are packed and weighed in training.
class HeldOutPairs {
 public:
  // entries: as of data.validation. Tells how many they are.
  HeldOutPairs(const std::vector<std::string>& entries, const PairReading& reading);

  int64_t count() const;
  // Collective, as train::token_scores.
  TokenScores scores(const EvaluatedModel& model, int64_t vocabulary) const;
  // `asked` of all pairs, evenly spread; all for 0. References are the files' texts; of a store
  // they are what its tokens say.
  WantedTexts texts(int64_t asked) const;
  std::vector<data::DataFile> files(const std::string& option) const {
    return pair_files(option, blend_);
  }

 private:
  void add_text(size_t part, int64_t pair, WantedTexts& into) const;

  PairReading reading_;
  data::PairBlend blend_;
  std::vector<std::unique_ptr<const data::TwoSidedSamples>> samples_;  // of each part
};

}  // namespace skein::train
