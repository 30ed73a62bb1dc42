// Turns blended token stores into micro-batches of an encoder's samples: [CLS] text [SEP], or [CLS]
// A [SEP] B [SEP], with some of the tokens hidden.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/samples/loader.h"
#include "skein/data/samples/masking.h"
#include "skein/data/samples/pairs.h"

namespace skein::data {

// Targets and weights of batches are [B,P], P = most_places of the length.
class MaskedLoader : public BlendedSource {
 public:
  // entries as in DataConfig::train. Without pairs a sample is the next length - 2 tokens of a
  // store, whatever documents they are of (RoBERTa's "full sentences"), with [SEP] where one ends;
  // with pairs, a run of sentences, padded. Usage errors when a store is too small for one sample,
  // and as open_blend, MaskVocabulary and sentence_runs.
  MaskedLoader(const std::vector<std::string>& entries, int64_t length, uint64_t seed,
               const DataConfig& data, const MaskConfig& mask);

  bool with_pairs() const { return mask_.pairs != PairTask::none; }

 private:
  struct Draft;

  Draft running_text(const TokenStore& store, int64_t sample) const;
  Draft pair(size_t store, int64_t sample, const Draws& draws) const;
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  std::vector<std::vector<SentenceRun>> runs_;  // by store, with pairs
  MaskVocabulary vocabulary_;
  int64_t length_, places_;
  uint64_t seed_;
  DataConfig data_;
  MaskConfig mask_;
};

}  // namespace skein::data
