// Pictures of stores as batches of patches.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/data/images/augmented_sample.h"
#include "skein/data/images/picture_form.h"
#include "skein/data/samples/order.h"
#include "skein/data/samples/source.h"

namespace skein::data {

// The patches of an image, row by row of them, each in the order channel, row, column: numbers
// [patches, patch_numbers].
void fill_patches(const Image& image, const PictureForm& form, float* numbers);
// The same of pixels [channels,height,width] that are in the model's units already.
void fill_patches(const float* pixels, const PictureForm& form, float* numbers);
// A usage error where the store's pictures are not of the form's size; reader: who has the form.
void check_size(const ImageRecords& store, const PictureForm& form, const std::string& reader);
// Tokens, positions and features of so many pictures that are seen whole, whose numbers nobody has
// filled in yet.
Batch picture_batch(int64_t count, const PictureForm& form);

// Stores that are blended by weight, as SampleOrder has it.
struct ImageBlend {
  std::vector<ImageRecords> parts;
  std::vector<double> weights;
};

class ImageSamples : public RowSource {
 public:
  // All parts have the form's sizes. Where two pictures are mixed a sample has two targets, whose
  // weights are their shares. Where the form hides patches, batches are hiding_batch's instead, and
  // labels play no part; which are hidden is a pure function of the seed, the epoch and the
  // picture.
  ImageSamples(ImageBlend blend, const PictureForm& form, const AugmentConfig& augment,
               uint64_t seed, OrderKind order);

  int64_t samples_per_epoch() const override { return order_.samples_per_epoch(); }
  const ImageBlend& blend() const { return blend_; }
  const PictureForm& form() const { return form_; }
  // Of sample `index` of the stream; -1 where there are no labels.
  int32_t label(int64_t index) const;
  // The picture of that sample, unchanged.
  Image picture(int64_t index) const;

 private:
  Batch empty_batch(int64_t count) const override;
  void fill(const Batch& batch, int64_t row, int64_t index) const override;
  bool takes_long() const override { return augment_.changes(); }
  void fill_label(const Batch& batch, int64_t row, const AugmentedSample& sample) const;

  ImageBlend blend_;
  PictureForm form_;
  AugmentConfig augment_;
  uint64_t seed_;
  SampleOrder order_;
};

}  // namespace skein::data
