#include "skein/data/samples/preference_samples.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/formats/crc32c.h"

namespace skein::data {
namespace {

int64_t tokens_of(const PreferenceSample& sample) {
  int64_t tokens = 0;
  for (const FormedSample& sequence : sample.sequences) tokens += std::ssize(sequence.tokens);
  return tokens;
}

}  // namespace

PreferenceBatchShape shape_of(const std::vector<PreferenceSample>& samples, int64_t multiple,
                              int32_t pad, bool types) {
  PreferenceBatchShape shape{1, 1, pad, types};
  for (const PreferenceSample& sample : samples) {
    shape.length = std::max(shape.length, tokens_of(sample));
    shape.answers = std::max(shape.answers, std::ssize(sample.sequences));
  }
  shape.length = rounded_up(shape.length, multiple);
  return shape;
}

PreferenceSamples::PreferenceSamples(std::vector<PreferenceSample> samples,
                                     const PreferenceBatchShape& shape, uint64_t seed, bool shuffle)
    : samples_(std::move(samples)),
      shape_(shape),
      order_({std::ssize(samples_)}, {1}, seed, training_order(shuffle)) {
  for (const PreferenceSample& sample : samples_) {
    SKEIN_CHECK(!sample.sequences.empty() && std::ssize(sample.sequences) <= shape.answers);
    SKEIN_CHECK(tokens_of(sample) <= shape.length);
    SKEIN_CHECK_EQ(sample.values.size(), sample.sequences.size());
    SKEIN_CHECK_EQ(sample.grades.size(), sample.sequences.size());
    for (const FormedSample& sequence : sample.sequences)
      SKEIN_CHECK_EQ(sequence.places.size(), size_t{1});
  }
}

void PreferenceSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  const PreferenceSample& sample = samples_[order_.at(index).sample];
  int64_t at = 0;
  for (int64_t k = 0; k < std::ssize(sample.sequences); ++k) {
    const FormedSample& sequence = sample.sequences[k];
    const int64_t tokens = std::ssize(sequence.tokens);
    std::ranges::copy(sequence.tokens, row_of<int32_t>(batch.tokens, row, at));
    if (shape_.types) std::ranges::copy(sequence.types, row_of<int32_t>(batch.types, row, at));
    int32_t* const positions = row_of<int32_t>(batch.positions, row, at);
    std::iota(positions, positions + tokens, 0);
    std::fill_n(row_of<int32_t>(batch.segments, row, at), tokens, k);
    *row_of<int32_t>(batch.places, row, k) = narrow<int32_t>(at) + sequence.places[0];
    float* known = batch.known.data<float>() + (row * shape_.answers + k) * kKnownColumns;
    known[kKnownKind] = static_cast<float>(sample.kind);
    known[kKnownValue] = sample.values[k];
    known[kKnownGrade] = sample.grades[k];
    at += tokens;
  }
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(at);
  batch.weights.data<float>()[row] = 1;
}

Batch PreferenceSamples::empty_batch(int64_t count) const {
  Batch made = padded_batch(count, {shape_.length, shape_.answers, shape_.pad, true, shape_.types});
  made.targets = filled(count, 1, 0);
  made.weights = Tensor::zeros({count, 1}, DType::f32);
  made.known = Tensor::zeros({count, shape_.answers, kKnownColumns}, DType::f32);
  return made;
}

uint32_t PreferenceSamples::checksum() const {
  uint32_t sum = 0;
  for (const PreferenceSample& sample : samples_) {
    sum = formats::crc32c_of(std::span(&sample.kind, 1), sum);
    sum = formats::crc32c_of(sample.grades, formats::crc32c_of(sample.values, sum));
    for (const FormedSample& sequence : sample.sequences)
      sum = formats::crc32c_of(sequence.places, formats::crc32c_of(sequence.tokens, sum));
  }
  return sum;
}

}  // namespace skein::data
