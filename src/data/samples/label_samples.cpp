#include "skein/data/samples/label_samples.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/formats/crc32c.h"

namespace skein::data {
LabelSamples::LabelSamples(std::vector<LabelledSample> samples, const LabelBatchShape& shape,
                           uint64_t seed, bool shuffle)
    : samples_(std::move(samples)),
      shape_(shape),
      order_({std::ssize(samples_)}, {1}, seed, training_order(shuffle)) {
  for (const LabelledSample& sample : samples_) {
    SKEIN_CHECK(std::ssize(sample.form.tokens) <= shape.length);
    SKEIN_CHECK(std::ssize(sample.form.places) <= shape.places);
    SKEIN_CHECK(sample.labels.empty() || sample.labels.size() == sample.form.places.size());
  }
}

void LabelSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  const LabelledSample& sample = samples_[order_.at(index).sample];
  const FormedSample& form = sample.form;
  std::ranges::copy(form.tokens, row_of<int32_t>(batch.tokens, row));
  std::ranges::copy(form.places, row_of<int32_t>(batch.places, row));
  if (shape_.types) std::ranges::copy(form.types, row_of<int32_t>(batch.types, row));
  if (shape_.segments) std::fill_n(row_of<int32_t>(batch.segments, row), form.tokens.size(), 0);
  int32_t* const positions = row_of<int32_t>(batch.positions, row);
  std::iota(positions, positions + shape_.length, 0);
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(form.tokens.size());
  float* const weights = row_of<float>(batch.weights, row);
  if (shape_.values) *row_of<float>(batch.values, row) = sample.value;
  if (shape_.values) weights[0] = 1;
  for (int64_t place = 0; place < std::ssize(sample.labels); ++place) {
    *row_of<int32_t>(batch.targets, row, place) = std::max(0, sample.labels[place]);
    weights[place] = sample.labels[place] >= 0 ? 1 : 0;
  }
}

Batch LabelSamples::empty_batch(int64_t count) const {
  Batch made = padded_batch(count, shape_);
  if (shape_.values) made.values = Tensor::zeros({count, shape_.places}, DType::f32);
  return made;
}

uint32_t LabelSamples::checksum() const {
  uint32_t sum = 0;
  for (const LabelledSample& sample : samples_) {
    for (const auto* numbers : {&sample.form.tokens, &sample.form.places, &sample.labels})
      sum = formats::crc32c_of(*numbers, sum);
    sum = formats::crc32c_of(std::span(&sample.value, 1), sum);
  }
  return sum;
}

int64_t padded_length(const std::vector<LabelledSample>& samples, int64_t multiple, int64_t most) {
  int64_t longest = 1;
  for (const LabelledSample& sample : samples)
    longest = std::max(longest, std::ssize(sample.form.tokens));
  return std::min(rounded_up(longest, multiple), most);
}

int64_t most_places(const std::vector<LabelledSample>& samples) {
  size_t most = 1;
  for (const LabelledSample& sample : samples) most = std::max(most, sample.form.places.size());
  return most;
}

}  // namespace skein::data
