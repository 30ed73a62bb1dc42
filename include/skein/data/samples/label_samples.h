// Labelled samples as batches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "skein/data/samples/label_form.h"
#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"

namespace skein::data {

struct LabelledSample {
  FormedSample form;
  std::vector<int32_t> labels{};  // of each place; empty: not known
  float value = 0;                // of a regression
};

struct LabelBatchShape : PaddedShape {
  bool values = false;  // numbers are predicted, not classes
};

// In batches, places without a label have weight 0.
class LabelSamples : public RowSource {
 public:
  // shuffle: each epoch in another order of `seed`; else sample i is i. At least one sample, each
  // of which fits.
  LabelSamples(std::vector<LabelledSample> samples, const LabelBatchShape& shape, uint64_t seed,
               bool shuffle);

  int64_t samples_per_epoch() const override { return std::ssize(samples_); }
  const LabelBatchShape& shape() const { return shape_; }
  // Of all tokens, labels and values: what the samples are.
  uint32_t checksum() const;

 private:
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;

  std::vector<LabelledSample> samples_;
  LabelBatchShape shape_;
  SampleOrder order_;
};

// Tokens of the longest sample, at a multiple of `multiple` where `most` allows it.
int64_t padded_length(const std::vector<LabelledSample>& samples, int64_t multiple, int64_t most);
int64_t most_places(const std::vector<LabelledSample>& samples);

}  // namespace skein::data
