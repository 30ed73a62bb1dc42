#include "skein/data/samples/label_samples.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/formats/crc32c.h"

namespace skein {
namespace {

void copy_row(const std::vector<int32_t>& from, const Tensor& to, int64_t row) {
  std::copy(from.begin(), from.end(), to.data<int32_t>() + row * to.dim(1));
}

}  // namespace

LabelSamples::LabelSamples(std::vector<LabelledSample> samples, const LabelBatchShape& shape,
                           uint64_t seed, bool shuffle)
    : samples_(std::move(samples)),
      shape_(shape),
      order_({std::ssize(samples_)}, {1}, seed, shuffle) {
  for (const LabelledSample& sample : samples_) {
    SKEIN_CHECK(std::ssize(sample.form.tokens) <= shape.length);
    SKEIN_CHECK(std::ssize(sample.form.places) <= shape.places);
    SKEIN_CHECK(sample.labels.empty() || sample.labels.size() == sample.form.places.size());
  }
}

void LabelSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  const LabelledSample& sample = samples_[order_.at(index).sample];
  copy_row(sample.form.tokens, batch.tokens, row);
  copy_row(sample.form.places, batch.places, row);
  if (shape_.types) copy_row(sample.form.types, batch.types, row);
  if (shape_.segments)
    std::fill_n(batch.segments.data<int32_t>() + row * shape_.length, sample.form.tokens.size(), 0);
  std::iota(batch.positions.data<int32_t>() + row * shape_.length,
            batch.positions.data<int32_t>() + (row + 1) * shape_.length, 0);
  batch.sample_ids.data<int64_t>()[row] = index;
  batch.lengths.data<int32_t>()[row] = narrow<int32_t>(sample.form.tokens.size());
  float* weights = batch.weights.data<float>() + row * shape_.places;
  if (shape_.values) batch.values.data<float>()[row * shape_.places] = sample.value;
  if (shape_.values) weights[0] = 1;
  for (int64_t place = 0; place < std::ssize(sample.labels); ++place) {
    batch.targets.data<int32_t>()[row * shape_.places + place] = std::max(0, sample.labels[place]);
    weights[place] = sample.labels[place] >= 0 ? 1 : 0;
  }
}

Batch LabelSamples::batch(int64_t first, int64_t count) const {
  SKEIN_CHECK(first >= 0 && count > 0);
  Batch made;
  made.tokens = filled(count, shape_.length, shape_.pad);
  made.positions = filled(count, shape_.length, 0);
  made.targets = filled(count, shape_.places, 0);
  made.places = filled(count, shape_.places, -1);
  made.weights = Tensor::zeros({count, shape_.places}, DType::f32);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  made.lengths = Tensor::zeros({count}, DType::i32);
  if (shape_.segments) made.segments = filled(count, shape_.length, -1);
  if (shape_.types) made.types = filled(count, shape_.length, 0);
  if (shape_.values) made.values = Tensor::zeros({count, shape_.places}, DType::f32);
  for (int64_t row = 0; row < count; ++row) fill(made, row, first + row);
  return made;
}

uint32_t LabelSamples::checksum() const {
  uint32_t sum = 0;
  const auto add = [&sum](const auto& numbers) {
    sum = crc32c(std::as_bytes(std::span(numbers)), sum);
  };
  for (const LabelledSample& sample : samples_) {
    add(sample.form.tokens);
    add(sample.form.places);
    add(sample.labels);
    add(std::vector<float>{sample.value});
  }
  return sum;
}

int64_t padded_length(const std::vector<LabelledSample>& samples, int64_t multiple, int64_t most) {
  int64_t longest = 1;
  for (const LabelledSample& sample : samples)
    longest = std::max(longest, std::ssize(sample.form.tokens));
  return std::min((longest + multiple - 1) / multiple * multiple, most);
}

int64_t most_places(const std::vector<LabelledSample>& samples) {
  size_t most = 1;
  for (const LabelledSample& sample : samples) most = std::max(most, sample.form.places.size());
  return most;
}

}  // namespace skein
