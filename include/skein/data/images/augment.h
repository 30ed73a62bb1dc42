// Random changes of pictures that a model learns from. Each is a pure function of the seed, the
// epoch and the number of the picture, and does not depend on which others are asked for.
#pragma once

#include <cstdint>

#include "skein/core/options/options.h"
#include "skein/data/images/resize.h"

namespace skein::data {

// In the order in which they are made. What comes in from outside of a picture is black.
struct AugmentConfig {
  double crop = 1;      // least part of the area that is cut out and resized; 1: none is
  double aspect = 1.0;  // of what is cut out: from 1 / aspect to aspect times the picture's
  int64_t pad = 0;      // pixels: the picture is moved by up to so many each way
  double rotate = 0;    // degrees: it is turned by up to so many either way
  double shift = 0;     // it is moved by up to this part of its sides, by parts of pixels, too
  double flip = 0;      // probability of being mirrored, left for right
  double brightness = 0, contrast = 0;  // up to this part more or less
  double erase = 0;                     // probability that a rectangle takes the mean colour
  // Beta(a, a) of how much of another picture is mixed in, or of the area that is cut out of it;
  // where both are given each sample has one of them.
  double mixup = 0, cutmix = 0;

  bool mixes() const { return mixup > 0 || cutmix > 0; }
  // Whether pictures become others at all.
  bool changes() const {
    return crop < 1 || pad > 0 || rotate > 0 || shift > 0 || flip > 0 || brightness > 0 ||
           contrast > 0 || erase > 0 || mixes();
  }
};
// Binds every field under section "augment".
void bind(Options& options, AugmentConfig& config);
// Usage errors for numbers that are out of their range.
void check(const AugmentConfig& config);

// Which picture of which pass.
struct AugmentKey {
  uint64_t seed = 1;
  int64_t epoch = 0;
  int64_t image = 0;  // number in all of the data
};

// As training has it for picture `image` of store number `store` under train.seed.
AugmentKey key_of(uint64_t seed, int64_t store, int64_t epoch, int64_t image);

// All up to contrast; the rest is for whoever knows the mean colour and the other pictures.
Image augmented(const Image& image, const AugmentConfig& config, const AugmentKey& key);

// Rows [top, bottom) and columns [left, right) of pixels; none where it is empty.
struct Rectangle {
  int64_t top = 0, bottom = 0, left = 0, right = 0;
  int64_t area() const { return (bottom - top) * (right - left); }
};
// What is erased: of 2 to 33% of the area and a form from 0.3 to 3.3, as far as the picture has
// room (Zhong and others, 2020).
Rectangle erased(const AugmentConfig& config, const AugmentKey& key, int64_t height, int64_t width);

// How a second picture comes in.
struct Mixing {
  int64_t other = 0;   // its number, below `images`
  double share = 0;    // of the second in the target
  bool cuts = false;   // cutmix
  Rectangle cut = {};  // cutmix: where the second's pixels stand; else all are blended by share
};
// Zhang and others, "mixup", 2018; Yun and others, "CutMix", 2019: of a rectangle of the drawn area
// around a point anywhere, what lies inside.
Mixing mixing(const AugmentConfig& config, const AugmentKey& key, int64_t images, int64_t height,
              int64_t width);

}  // namespace skein::data
