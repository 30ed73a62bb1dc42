// Other sizes of images.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "skein/data/images/image.h"

namespace skein::data {

// What a new pixel is a mean of. Where an image becomes smaller all reach as much further, so that
// each pixel of it counts. area: the pixels below it; bilinear: a triangle of twice that width;
// bicubic: Keys' curve of a = -1/2 over four times that width.
enum class Resampling { area, bilinear, bicubic };

// Part of an image, in its pixels: [left, right) x [top, bottom), which need not be whole numbers.
struct Region {
  double left = 0, top = 0, right = 0, bottom = 0;
};
Region whole_region(const Image& image);
// The largest part in the middle that has the ratio of these sides.
Region middle_region(const Image& image, int64_t height, int64_t width);

// The region, which lies inside, as height x width pixels: rows first, then columns, each in 8-bit
// numbers by weights of 22 bits, which are Pillow's bits (Image.resize with box).
Image resized(const Image& image, const Region& region, int64_t height, int64_t width,
              Resampling how);

// How images of any size come to one.
enum class Fit {
  cut,      // the largest part in the middle of the wanted form is resized
  pad,      // all of it is resized to fit inside, in the middle of black
  stretch,  // all of it is resized, whatever becomes of its form
  none,     // nothing: they have it
};
// Pixels of a size that they come to.
inline constexpr int64_t kMostFittedPixels = int64_t{1} << 26;
struct Fitting {
  Fit fit = Fit::cut;
  Resampling resampling = Resampling::bilinear;
  // Not 0: they come to this size first, in the middle of which the wanted one is cut out.
  int64_t height = 0, width = 0;

  bool operator==(const Fitting&) const = default;
};
// With their names, as options and notes give them.
const std::vector<std::pair<std::string, Fit>>& fits();
const std::vector<std::pair<std::string, Resampling>>& resamplings();
const std::string& name_of(Fit fit);
const std::string& name_of(Resampling how);
// For images of another height and width: what they are cut out of is as much larger or smaller.
Fitting scaled(Fitting how, const std::pair<int64_t, int64_t>& from,
               const std::pair<int64_t, int64_t>& to);
// "images.fit=cut and images.resampling=bilinear", with the size that comes first.
std::string told(const Fitting& how);

// Usage errors, without a name: where an image that is stretched has so many rows that they would
// take more than 2^28 pixels on the way, and where one has another size that must have it already.
Image fitted(const Image& image, int64_t height, int64_t width, const Fitting& how);

}  // namespace skein::data
