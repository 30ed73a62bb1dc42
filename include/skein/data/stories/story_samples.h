// Stories as batches: a sample is a question and the sentences before it.
//
// tokens [B,T]: words of the latest sentences, the oldest first, and of the question behind them.
// segments [B,T]: which sentence each word is of; the question has the largest number, the sentence
// before it that less 1 and so on, so that the difference is the sentence's age. -1: padding. A
// number that no word has is a moment without a sentence.
// targets [B,1]: the answer, a word. places [B,1]: the question's last word.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"
#include "skein/data/stories/story_store.h"

namespace skein::data {

// Stores that are blended by weight, as SampleOrder has it, all with one vocabulary.
struct StoryBlend {
  std::vector<StoryRecords> parts;
  std::vector<double> weights;
};

struct StorySampleConfig {
  int64_t memories = 50;  // sentences before a question, the latest ones
  // In training up to so many moments for each sentence, rounded up, have none: how many and when
  // is a pure function of seed, epoch and sample (Sukhbaatar and others, 2015, "random noise").
  double empty = 0;
  uint64_t seed = 1;
  OrderKind order = OrderKind::shuffled;
};

class StorySamples : public RowSource {
 public:
  StorySamples(StoryBlend blend, const StorySampleConfig& config);

  int64_t samples_per_epoch() const override { return order_.samples_per_epoch(); }
  const StoryBlend& blend() const { return blend_; }
  const StorySampleConfig& config() const { return config_; }
  int64_t length() const { return length_; }  // words of the longest sample, T
  // Sample `index` of the stream, all of its sentences, and the store that it is of.
  struct Found {
    const StoryRecords* part;
    StoryRecord story;
  };
  Found record(int64_t index) const;

 private:
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  StoryBlend blend_;
  StorySampleConfig config_;
  SampleOrder order_;
  int64_t length_ = 1;
};

}  // namespace skein::data
