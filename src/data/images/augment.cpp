#include "skein/data/images/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "skein/core/error.h"
#include "skein/data/samples/draws.h"

namespace skein::data {
namespace {

// Each kind of change draws from a sequence of its own.
Draws draws_for(const char* change, const AugmentKey& key) {
  const uint64_t of_change = derive_key(key.seed, std::string("augment.") + change);
  return {derive_key(of_change, std::to_string(key.epoch)), static_cast<uint64_t>(key.image)};
}

double between(Draws& draws, double low, double high) {
  return low + (high - low) * draws.uniform();
}

Image cropped(const Image& image, const AugmentConfig& c, const AugmentKey& key) {
  Draws draws = draws_for("crop", key);
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  // No side of what is cut out is longer than the picture's.
  const double area = between(draws, c.crop, 1), least = std::max(1 / c.aspect, area),
               form = std::exp(between(draws, std::log(least), -std::log(least)));
  const double wide = std::min(width, width * std::sqrt(area * form)),
               high = std::min(height, height * std::sqrt(area / form));
  const double left = between(draws, 0, width - wide), top = between(draws, 0, height - high);
  const Region region{left, top, std::min(left + wide, width), std::min(top + high, height)};
  return resized(image, region, image.height, image.width, Resampling::bilinear);
}

Image moved(const Image& image, int64_t down, int64_t right) {
  Image made = black_image(image.channels, image.height, image.width);
  const int64_t first = std::max<int64_t>(0, right),
                last = std::min(image.width, image.width + right);
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t y = std::max<int64_t>(0, down); y < std::min(image.height, image.height + down);
         ++y) {
      const int64_t to = (channel * image.height + y) * image.width, from = to - down * image.width;
      for (int64_t x = first; x < last; ++x) made.values[to + x] = image.values[from + x - right];
    }
  return made;
}

Image padded(const Image& image, const AugmentConfig& c, const AugmentKey& key) {
  Draws draws = draws_for("pad", key);
  const int64_t down = draws.below(2 * c.pad + 1) - c.pad,
                right = draws.below(2 * c.pad + 1) - c.pad;
  return moved(image, down, right);
}

// Between the four pixels around (y, x), black outside.
double value_between(const uint8_t* plane, int64_t height, int64_t width, double y, double x) {
  const double low_y = std::floor(y), low_x = std::floor(x);
  const auto pixel = [&](double at_y, double at_x) -> double {
    if (at_y < 0 || at_x < 0 || at_y >= static_cast<double>(height) ||
        at_x >= static_cast<double>(width))
      return 0;
    return plane[static_cast<int64_t>(at_y) * width + static_cast<int64_t>(at_x)];
  };
  const double down = y - low_y, right = x - low_x;
  const double above = (1 - right) * pixel(low_y, low_x) + right * pixel(low_y, low_x + 1),
               below = (1 - right) * pixel(low_y + 1, low_x) + right * pixel(low_y + 1, low_x + 1);
  return (1 - down) * above + down * below;
}

// Around the middle, counter-clockwise, then moved.
Image turned(const Image& image, const AugmentConfig& c, const AugmentKey& key) {
  Draws draws = draws_for("rotate", key);
  const double angle = between(draws, -c.rotate, c.rotate) * std::numbers::pi / 180;
  const auto height = static_cast<double>(image.height), width = static_cast<double>(image.width);
  Draws shifts = draws_for("shift", key);
  const double down = between(shifts, -c.shift, c.shift) * height,
               right = between(shifts, -c.shift, c.shift) * width;
  const double cosine = std::cos(angle), sine = std::sin(angle), middle_y = (height - 1) / 2,
               middle_x = (width - 1) / 2;
  Image made = black_image(image.channels, image.height, image.width);
  const int64_t pixels = image.height * image.width;
  for (int64_t i = 0; i < pixels; ++i) {
    const double y = static_cast<double>(i / image.width) - down - middle_y,
                 x = static_cast<double>(i % image.width) - right - middle_x;
    const double from_y = middle_y + cosine * y + sine * x,
                 from_x = middle_x + cosine * x - sine * y;
    for (int64_t channel = 0; channel < image.channels; ++channel)
      made.values[channel * pixels + i] = static_cast<uint8_t>(std::lround(value_between(
          image.values.data() + channel * pixels, image.height, image.width, from_y, from_x)));
  }
  return made;
}

void mirror(Image& image) {
  for (int64_t line = 0; line < image.channels * image.height; ++line) {
    const auto begin = image.values.begin() + line * image.width;
    std::reverse(begin, begin + image.width);
  }
}

// Values become middle + factor (value - middle).
void stretch(Image& image, double factor, double middle) {
  for (uint8_t& value : image.values)
    value = static_cast<uint8_t>(
        std::clamp<long>(std::lround(middle + factor * (value - middle)), 0, 255));
}

double mean_of(const Image& image) {
  int64_t sum = 0;
  for (const uint8_t value : image.values) sum += value;
  return static_cast<double>(sum) / static_cast<double>(image.values.size());
}

double normal(Draws& draws) {
  const double radius = std::sqrt(-2 * std::log(1 - draws.uniform()));
  return radius * std::cos(2 * std::numbers::pi * draws.uniform());
}

// The logarithm of a gamma variable (Marsaglia and Tsang, "A simple method for generating gamma
// variables", 2000): those of small shapes are below what a double holds.
double log_gamma_variable(Draws& draws, double shape) {
  if (shape < 1) {
    const double above = log_gamma_variable(draws, shape + 1);
    return above + std::log(1 - draws.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(draws), v = std::pow(1 + c * x, 3);
    if (v <= 0) continue;
    if (std::log(1 - draws.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

double beta(Draws& draws, double shape) {
  const double one = log_gamma_variable(draws, shape), other = log_gamma_variable(draws, shape);
  return 1 / (1 + std::exp(other - one));
}

// In whole parts of 2^24: it and what is left of 1 are exact in f32, and so are sums of them.
double rounded_share(double share) { return std::round(share * 0x1p24) * 0x1p-24; }

// Around a point anywhere, as far as it lies inside.
Rectangle around(Draws& draws, double high, double wide, int64_t height, int64_t width) {
  const int64_t y = draws.below(height), x = draws.below(width);
  const auto half_y = std::llround(high / 2), half_x = std::llround(wide / 2);
  return {std::max<int64_t>(0, y - half_y), std::min<int64_t>(height, y + half_y),
          std::max<int64_t>(0, x - half_x), std::min<int64_t>(width, x + half_x)};
}

}  // namespace

AugmentKey key_of(uint64_t seed, int64_t store, int64_t epoch, int64_t image) {
  return {derive_key(seed, "store " + std::to_string(store)), epoch, image};
}

void bind(Options& options, AugmentConfig& c) {
  options.add("augment.crop", c.crop,
              "a part of each picture of at least this area is cut out and resized; 1: all of it");
  options.add("augment.aspect", c.aspect, "what is cut out is up to so many times wider or higher");
  options.add("augment.pad", c.pad, "pictures are moved by up to so many pixels each way",
              "pixels");
  options.add("augment.rotate", c.rotate, "and turned by up to so much either way", "degrees");
  options.add("augment.shift", c.shift, "and moved by up to this part of their sides");
  options.add("augment.flip", c.flip, "probability of being mirrored, left for right");
  options.add("augment.brightness", c.brightness, "up to this part brighter or darker");
  options.add("augment.contrast", c.contrast, "up to this part more or less contrast");
  options.add("augment.erase", c.erase,
              "probability that a rectangle of a picture takes the mean colour");
  options.add("augment.mixup", c.mixup,
              "pictures are blended, by a share drawn of Beta(a, a), with another; 0: not");
  options.add("augment.cutmix", c.cutmix,
              "a rectangle, of an area drawn of Beta(a, a), is taken from another; 0: not");
}

void check(const AugmentConfig& c) {
  const auto within = [](const char* key, double value, double least, double most) {
    require(value >= least && value <= most, "augment.{}={} must lie in [{}, {}]", key, value,
            least, most);
  };
  require(c.crop > 0 && c.crop <= 1, "augment.crop={} must lie in (0, 1]", c.crop);
  within("aspect", c.aspect, 1, 100);
  require(c.crop < 1 || c.aspect == 1,
          "augment.aspect={} is the form of what augment.crop cuts out; give augment.crop below 1",
          c.aspect);
  require(c.pad >= 0 && c.pad <= 65536, "augment.pad={} must lie in [0, 65536]", c.pad);
  within("rotate", c.rotate, 0, 180);
  within("shift", c.shift, 0, 1);
  within("flip", c.flip, 0, 1);
  within("brightness", c.brightness, 0, 1);
  within("contrast", c.contrast, 0, 1);
  within("erase", c.erase, 0, 1);
  within("mixup", c.mixup, 0, 100);
  within("cutmix", c.cutmix, 0, 100);
}

Image augmented(const Image& image, const AugmentConfig& c, const AugmentKey& key) {
  Image made = c.crop < 1 ? cropped(image, c, key) : image;
  if (c.pad > 0) made = padded(made, c, key);
  if (c.rotate > 0 || c.shift > 0) made = turned(made, c, key);
  if (draws_for("flip", key).uniform() < c.flip) mirror(made);
  Draws light = draws_for("brightness", key), range = draws_for("contrast", key);
  if (c.brightness > 0) stretch(made, between(light, 1 - c.brightness, 1 + c.brightness), 0);
  if (c.contrast > 0) stretch(made, between(range, 1 - c.contrast, 1 + c.contrast), mean_of(made));
  return made;
}

Rectangle erased(const AugmentConfig& c, const AugmentKey& key, int64_t height, int64_t width) {
  Draws draws = draws_for("erase", key);
  if (draws.uniform() >= c.erase) return {};
  const double area = between(draws, 0.02, 0.33) * static_cast<double>(height * width),
               form = std::exp(between(draws, std::log(0.3), std::log(3.3)));
  const int64_t high = std::clamp<int64_t>(std::llround(std::sqrt(area * form)), 1, height),
                wide = std::clamp<int64_t>(std::llround(std::sqrt(area / form)), 1, width);
  const int64_t top = draws.below(height - high + 1), left = draws.below(width - wide + 1);
  return {top, top + high, left, left + wide};
}

Mixing mixing(const AugmentConfig& c, const AugmentKey& key, int64_t images, int64_t height,
              int64_t width) {
  Draws draws = draws_for("mix", key);
  Mixing made{.other = draws.below(images)};
  made.cuts = c.cutmix > 0 && (c.mixup == 0 || draws.uniform() < 0.5);
  made.share = rounded_share(beta(draws, made.cuts ? c.cutmix : c.mixup));
  if (!made.cuts) return made;
  const double side = std::sqrt(made.share);
  made.cut = around(draws, side * static_cast<double>(height), side * static_cast<double>(width),
                    height, width);
  made.share =
      rounded_share(static_cast<double>(made.cut.area()) / static_cast<double>(height * width));
  return made;
}

}  // namespace skein::data
