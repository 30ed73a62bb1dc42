// Turns blended token stores into micro-batches of an encoder-decoder that restores noised text.
//
// batch.source [B,S] is what is left of the text; batch.tokens [B,T] is what the decoder is fed:
// the start and all of the target but its last token; batch.targets [B,T] is the target.
// - text: <s> text </s> on both sides; end-of-text within a window is </s> on both sides too, and
//   each document is noised by itself.
// - spans: text and sentinels with </s> behind, and the spans behind their sentinels
//   (span_noise.h).
//
// Both sides have segments, by which documents and padding are kept apart: a document's tokens have
// the same number on both sides, 0 where documents see each other, and padding has -1. Positions
// begin again where a segment does. weights are 1 but on padding. known [B,T,1] is 1 for targets
// that the source hides and 0 for those it shows, ends and sentinels among them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/noise/noise_vocabulary.h"
#include "skein/data/samples/loader.h"

namespace skein::data {

// Places that the model has on either side, 0: any number. Rows are as long as samples may be,
// rounded up to `multiple` where the model has places for that.
struct DenoisingRows {
  int64_t source = 0, target = 0, multiple = 1;
};

class StoreSamples;
struct StoreRange;

class DenoisingLoader : public BlendedSource {
 public:
  // entries as in DataConfig::train. Usage errors as check, open_tokenized_blend, NoiseVocabulary
  // and require_sentinels; when a side is longer than the model allows, when a store is too small
  // for one sample, or has no sentences and is to have them permuted.
  DenoisingLoader(const std::vector<std::string>& entries, const DenoisingRows& rows, uint64_t seed,
                  const DataConfig& data, const NoiseConfig& noise);
  ~DenoisingLoader() override;

  // Places of the longest sample, padding of rows not included.
  int64_t source_length() const { return lengths_.source; }
  int64_t target_length() const { return lengths_.target; }
  const NoiseVocabulary& vocabulary() const { return vocabulary_; }

 private:
  struct Lengths {
    int64_t source, target, text;
  };
  struct Sample;

  static Lengths lengths_of(const NoiseConfig& noise, const DenoisingRows& rows);
  Sample text_sample(const TokenStore& store, const StoreRange& range, Draws draws) const;
  std::vector<int32_t> span_text(const TokenStore& store, const StoreRange& range) const;
  Sample span_sample(const std::vector<int32_t>& text, Draws draws) const;
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  NoiseVocabulary vocabulary_;
  Lengths lengths_, padded_;
  uint64_t seed_;
  DataConfig data_;
  NoiseConfig noise_;
  std::vector<StoreSamples> samples_;  // by store
};

}  // namespace skein::data
