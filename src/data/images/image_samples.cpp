#include "skein/data/images/image_samples.h"

#include <numeric>

#include "skein/core/error.h"
#include "skein/core/philox.h"
#include "skein/data/images/hidden_patches.h"

namespace skein::data {
namespace {

std::vector<int64_t> sizes_of(const ImageBlend& blend) {
  std::vector<int64_t> made;
  for (const ImageRecords& part : blend.parts) made.push_back(part.count());
  return made;
}

Draws hiding_draws(const AugmentKey& key) {
  const uint64_t seed = derive_key(key.seed, "hidden patches");
  return {derive_key(seed, fmt::format("epoch {}", key.epoch)), static_cast<uint64_t>(key.image)};
}

// value: of a channel and a number in it, row by row.
template <class Value>
void fill(const PictureForm& form, const Value& value, float* numbers) {
  for (int64_t top = 0; top < form.height; top += form.patch_height)
    for (int64_t left = 0; left < form.width; left += form.patch_width)
      for (int64_t channel = 0; channel < form.channels; ++channel)
        for (int64_t y = top; y < top + form.patch_height; ++y)
          for (int64_t x = left; x < left + form.patch_width; ++x)
            *numbers++ = value(channel, y * form.width + x);
}

}  // namespace

void fill_patches(const Image& image, const PictureForm& form, float* numbers) {
  const int64_t pixels = form.height * form.width;
  const uint8_t* values = image.values.data();
  fill(
      form,
      [&](int64_t channel, int64_t at) {
        return static_cast<float>((values[channel * pixels + at] / 255.0 - form.mean[channel]) /
                                  form.deviation[channel]);
      },
      numbers);
}

void fill_patches(const float* pixels, const PictureForm& form, float* numbers) {
  const int64_t size = form.height * form.width;
  fill(
      form, [&](int64_t channel, int64_t at) { return pixels[channel * size + at]; }, numbers);
}

void check_size(const ImageRecords& store, const PictureForm& form, const std::string& reader) {
  require(store.channels() == form.channels && store.height() == form.height &&
              store.width() == form.width,
          "{} has pictures of {} x {} x {} (channels, height, width), but {} reads {} x {} x {}; "
          "make it again with that size",
          store.records().name(), store.channels(), store.height(), store.width(), reader,
          form.channels, form.height, form.width);
}

Batch picture_batch(int64_t count, const PictureForm& form) {
  SKEIN_CHECK_EQ(form.hidden, 0);
  Batch made;
  made.tokens = filled(count, form.tokens(), 0);
  made.positions = filled(count, form.tokens(), 0);
  for (int64_t row = 0; row < count; ++row) {
    int32_t* const positions = row_of<int32_t>(made.positions, row);
    std::iota(positions, positions + form.tokens(), 0);
  }
  made.features = Tensor::empty({count, form.patches(), form.patch_numbers()}, DType::f32);
  return made;
}

ImageSamples::ImageSamples(ImageBlend blend, const PictureForm& form, const AugmentConfig& augment,
                           uint64_t seed, OrderKind order)
    : blend_(std::move(blend)),
      form_(form),
      augment_(augment),
      seed_(seed),
      order_(sizes_of(blend_), blend_.weights, seed, order) {
  for (const ImageRecords& part : blend_.parts)
    SKEIN_CHECK(part.channels() == form.channels && part.height() == form.height &&
                part.width() == form.width);
}

int32_t ImageSamples::label(int64_t index) const {
  const SampleIndex found = order_.at(index);
  return blend_.parts[found.dataset].label(found.sample);
}

Image ImageSamples::picture(int64_t index) const {
  const SampleIndex found = order_.at(index);
  return blend_.parts[found.dataset].image(found.sample);
}

Batch ImageSamples::empty_batch(int64_t count) const {
  if (form_.hidden > 0) return hiding_batch(count, form_);
  const int64_t targets = augment_.mixes() ? 2 : 1;
  Batch made = picture_batch(count, form_);
  made.targets = filled(count, targets, 0);
  made.weights = Tensor::zeros({count, targets}, DType::f32);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  return made;
}

void ImageSamples::fill(const Batch& batch, int64_t row, int64_t index) const {
  const SampleIndex from = order_.at(index);
  const AugmentKey key = key_of(seed_, from.dataset, from.epoch, from.sample);
  const AugmentedSample sample = augmented_sample(blend_.parts[from.dataset], augment_, key);
  const int64_t numbers = form_.patches() * form_.patch_numbers();
  if (form_.hidden > 0) {
    std::vector<float> all(numbers);
    fill_patches(sample.image, form_, all.data());
    return fill_hiding(batch, row, all, hide_patches(form_, hiding_draws(key)), form_);
  }
  fill_patches(sample.image, form_, batch.features.data<float>() + row * numbers);
  if (sample.label >= 0) fill_label(batch, row, sample);
}

void ImageSamples::fill_label(const Batch& batch, int64_t row,
                              const AugmentedSample& sample) const {
  row_of<int32_t>(batch.targets, row)[0] = sample.label;
  row_of<float>(batch.weights, row)[0] = static_cast<float>(1 - sample.share);
  if (!augment_.mixes()) return;
  row_of<int32_t>(batch.targets, row)[1] = sample.second;
  row_of<float>(batch.weights, row)[1] = static_cast<float>(sample.share);
}

}  // namespace skein::data
