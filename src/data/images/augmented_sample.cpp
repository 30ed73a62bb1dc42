#include "skein/data/images/augmented_sample.h"

#include <cmath>

namespace skein::data {
namespace {

// value(channel, place) is what stands in a rectangle.
template <class Value>
void fill(Image& image, const Rectangle& where, const Value& value) {
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t y = where.top; y < where.bottom; ++y)
      for (int64_t x = where.left; x < where.right; ++x) {
        const int64_t place = (channel * image.height + y) * image.width + x;
        image.values[place] = value(channel, place);
      }
}

uint8_t rounded(double value) { return static_cast<uint8_t>(std::lround(value)); }

Image changed(const ImageRecords& images, const AugmentConfig& config, const AugmentKey& key) {
  Image made = augmented(images.image(key.image), config, key);
  fill(made, erased(config, key, made.height, made.width),
       [&](int64_t channel, int64_t) { return rounded(255 * images.meaning().mean[channel]); });
  return made;
}

}  // namespace

AugmentedSample augmented_sample(const ImageRecords& images, const AugmentConfig& config,
                                 const AugmentKey& key) {
  AugmentedSample made{changed(images, config, key), images.label(key.image)};
  if (!config.mixes()) return made;
  const Mixing how = mixing(config, key, images.count(), images.height(), images.width());
  const Image other = changed(images, config, {key.seed, key.epoch, how.other});
  made.second = images.label(how.other);
  made.share = how.share;
  if (how.cuts)
    fill(made.image, how.cut, [&](int64_t, int64_t place) { return other.values[place]; });
  else
    fill(made.image, {0, made.image.height, 0, made.image.width}, [&](int64_t, int64_t place) {
      return rounded((1 - how.share) * made.image.values[place] + how.share * other.values[place]);
    });
  return made;
}

}  // namespace skein::data
