#include "skein/data/images/rebuilt_pictures.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"
#include "skein/data/images/hidden_patches.h"
#include "skein/data/images/image_samples.h"

namespace skein::data {
namespace {

constexpr uint8_t kGrey = 128;

// value(channel, number in the patch), in the order of the patch's numbers.
template <class Value>
void paint(Image& image, int32_t patch, const PictureForm& form, const Value& value) {
  const int64_t columns = form.width / form.patch_width, top = patch / columns * form.patch_height,
                left = patch % columns * form.patch_width;
  int64_t number = 0;
  for (int64_t channel = 0; channel < form.channels; ++channel)
    for (int64_t y = top; y < top + form.patch_height; ++y)
      for (int64_t x = left; x < left + form.patch_width; ++x)
        image.values[(channel * form.height + y) * form.width + x] = value(channel, number++);
}

uint8_t pixel_of(double number, int64_t channel, const PictureForm& form) {
  const double value = 255 * (number * form.deviation[channel] + form.mean[channel]);
  return std::isfinite(value) ? static_cast<uint8_t>(std::lround(std::clamp(value, 0.0, 255.0)))
                              : uint8_t{0};
}

}  // namespace

std::vector<Image> rebuilt_row(const Image& picture, std::span<const int32_t> hidden,
                               std::span<const float> said, const PictureForm& form) {
  const int64_t width = form.patch_numbers();
  SKEIN_CHECK_EQ(said.size(), hidden.size() * width);
  std::vector<float> numbers(form.patches() * width);
  fill_patches(picture, form, numbers.data());
  std::vector<Image> made(3, picture);
  for (size_t i = 0; i < hidden.size(); ++i) {
    const std::span<const float> patch(numbers.data() + hidden[i] * width, width);
    const PatchUnits units = form.normed ? units_of(patch) : PatchUnits{};
    paint(made[1], hidden[i], form, [](int64_t, int64_t) { return kGrey; });
    std::vector<double> rebuilt(width);
    for (int64_t number = 0; number < width; ++number)
      rebuilt[said_number(form, number)] = said[i * width + number] * units.deviation + units.mean;
    paint(made[2], hidden[i], form, [&](int64_t channel, int64_t number) {
      return pixel_of(rebuilt[number], channel, form);
    });
  }
  return made;
}

}  // namespace skein::data
