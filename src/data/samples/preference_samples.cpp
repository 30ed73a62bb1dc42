#include "skein/data/samples/preference_samples.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/formats/crc32c.h"

namespace skein {
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
  shape.length = (shape.length + multiple - 1) / multiple * multiple;
  return shape;
}

PreferenceSamples::PreferenceSamples(std::vector<PreferenceSample> samples,
                                     const PreferenceBatchShape& shape, uint64_t seed, bool shuffle)
    : samples_(std::move(samples)),
      shape_(shape),
      order_({std::ssize(samples_)}, {1}, seed, shuffle) {
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
  int64_t at = row * shape_.length;
  for (int64_t k = 0; k < std::ssize(sample.sequences); ++k) {
    const FormedSample& sequence = sample.sequences[k];
    const int64_t tokens = std::ssize(sequence.tokens), answer = row * shape_.answers + k;
    std::copy(sequence.tokens.begin(), sequence.tokens.end(), batch.tokens.data<int32_t>() + at);
    if (shape_.types)
      std::copy(sequence.types.begin(), sequence.types.end(), batch.types.data<int32_t>() + at);
    std::iota(batch.positions.data<int32_t>() + at, batch.positions.data<int32_t>() + at + tokens,
              0);
    std::fill_n(batch.segments.data<int32_t>() + at, tokens, k);
    batch.places.data<int32_t>()[answer] =
        narrow<int32_t>(at - row * shape_.length) + sequence.places[0];
    float* known = batch.known.data<float>() + answer * kKnownColumns;
    known[kKnownKind] = static_cast<float>(sample.kind);
    known[kKnownValue] = sample.values[k];
    known[kKnownGrade] = sample.grades[k];
    at += tokens;
  }
  batch.sample_ids.data<int64_t>()[row] = index;
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(at - row * shape_.length);
  batch.weights.data<float>()[row] = 1;
}

Batch PreferenceSamples::batch(int64_t first, int64_t count) const {
  SKEIN_CHECK(first >= 0 && count > 0);
  Batch made;
  made.tokens = filled(count, shape_.length, shape_.pad);
  made.positions = filled(count, shape_.length, 0);
  made.segments = filled(count, shape_.length, -1);
  made.places = filled(count, shape_.answers, -1);
  made.targets = filled(count, 1, 0);
  made.weights = Tensor::zeros({count, 1}, DType::f32);
  made.known = Tensor::zeros({count, shape_.answers, kKnownColumns}, DType::f32);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  made.lengths = Tensor::zeros({count}, DType::i32);
  if (shape_.types) made.types = filled(count, shape_.length, 0);
  for (int64_t row = 0; row < count; ++row) fill(made, row, first + row);
  return made;
}

uint32_t PreferenceSamples::checksum() const {
  uint32_t sum = 0;
  const auto add = [&sum](const auto& numbers) {
    sum = crc32c(std::as_bytes(std::span(numbers)), sum);
  };
  for (const PreferenceSample& sample : samples_) {
    add(std::vector<PreferenceKind>{sample.kind});
    add(sample.values);
    add(sample.grades);
    for (const FormedSample& sequence : sample.sequences) {
      add(sequence.tokens);
      add(sequence.places);
    }
  }
  return sum;
}

}  // namespace skein
