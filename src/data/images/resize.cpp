#include "skein/data/images/resize.h"

#include <algorithm>
#include <cmath>

#include "skein/core/error.h"

namespace skein::data {
namespace {

constexpr int kBits = 22;
constexpr int64_t kMostBetween = int64_t{1} << 28;  // pixels, once rows are resized

double half_width(Resampling how) {
  return how == Resampling::area ? 0.5 : how == Resampling::bilinear ? 1 : 2;
}

double curve(Resampling how, double x) {
  if (how == Resampling::area) return x > -0.5 && x <= 0.5 ? 1 : 0;
  x = std::abs(x);
  if (how == Resampling::bilinear) return x < 1 ? 1 - x : 0;
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

// Of one new pixel along a side: the old ones that it is made of, and their weights in 2^-22.
struct Mix {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

Mix mix_around(double centre, double spread, int64_t size, Resampling how) {
  const double reach = half_width(how) * spread;
  Mix made{std::max<int64_t>(0, static_cast<int64_t>(centre - reach + 0.5)), {}};
  const int64_t end = std::min(size, static_cast<int64_t>(centre + reach + 0.5));
  std::vector<double> exact;
  double sum = 0;
  for (int64_t x = made.first; x < end; ++x)
    sum += exact.emplace_back(curve(how, (static_cast<double>(x) - centre + 0.5) * (1 / spread)));
  for (const double weight : exact)
    made.weights.push_back(
        static_cast<int32_t>(std::lround((sum == 0 ? weight : weight / sum) * (1 << kBits))));
  return made;
}

std::vector<Mix> mixes(double begin, double end, int64_t from, int64_t to, Resampling how) {
  const double scale = (end - begin) / static_cast<double>(to), spread = std::max(scale, 1.0);
  std::vector<Mix> made;
  for (int64_t i = 0; i < to; ++i)
    made.push_back(mix_around(begin + (static_cast<double>(i) + 0.5) * scale, spread, from, how));
  return made;
}

// stride: from one of the old pixels to the next.
uint8_t mixed(const uint8_t* line, int64_t stride, const Mix& mix) {
  int32_t sum = 1 << (kBits - 1);
  const uint8_t* at = line + mix.first * stride;
  for (const int32_t weight : mix.weights) {
    sum += *at * weight;
    at += stride;
  }
  return static_cast<uint8_t>(std::clamp(sum >> kBits, 0, 255));
}

// Of the rows [top, bottom).
Image with_width(const Image& image, const std::vector<Mix>& mix, int64_t top, int64_t bottom) {
  const int64_t width = std::ssize(mix), height = bottom - top;
  Image made = black_image(image.channels, height, width);
  for (int64_t line = 0; line < image.channels * height; ++line) {
    const int64_t from = line / height * image.height + top + line % height;
    for (int64_t x = 0; x < width; ++x)
      made.values[line * width + x] = mixed(image.values.data() + from * image.width, 1, mix[x]);
  }
  return made;
}

Image with_height(const Image& image, const std::vector<Mix>& mix) {
  const int64_t height = std::ssize(mix), width = image.width;
  Image made = black_image(image.channels, height, width);
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        made.values[(channel * height + y) * width + x] =
            mixed(image.values.data() + channel * image.height * width + x, width, mix[y]);
  return made;
}

bool is_all(double begin, double end, int64_t size, int64_t wanted) {
  return begin == 0 && end == static_cast<double>(size) && size == wanted;
}

}  // namespace

Region whole_region(const Image& image) {
  return {0, 0, static_cast<double>(image.width), static_cast<double>(image.height)};
}

Region middle_region(const Image& image, int64_t height, int64_t width) {
  const auto have_width = static_cast<double>(image.width),
             have_height = static_cast<double>(image.height),
             ratio = static_cast<double>(width) / static_cast<double>(height);
  const double wide = std::min(have_width, have_height * ratio), high = wide / ratio,
               left = (have_width - wide) / 2, top = (have_height - high) / 2;
  return {left, top, std::min(left + wide, have_width), std::min(top + high, have_height)};
}

Image resized(const Image& image, const Region& region, int64_t height, int64_t width,
              Resampling how) {
  SKEIN_CHECK(height > 0 && width > 0 && region.left >= 0 && region.top >= 0 &&
              region.left < region.right && region.top < region.bottom &&
              region.right <= static_cast<double>(image.width) &&
              region.bottom <= static_cast<double>(image.height));
  const bool as_wide = is_all(region.left, region.right, image.width, width),
             as_high = is_all(region.top, region.bottom, image.height, height);
  if (as_wide && as_high) return image;
  std::vector<Mix> down;
  if (!as_high) down = mixes(region.top, region.bottom, image.height, height, how);
  if (as_wide) return with_height(image, down);
  // Rows that no new pixel is made of are left out.
  const int64_t top = as_high ? 0 : down.front().first,
                bottom = as_high ? height : down.back().first + std::ssize(down.back().weights);
  for (Mix& mix : down) mix.first -= top;
  const Image wide =
      with_width(image, mixes(region.left, region.right, image.width, width, how), top, bottom);
  return as_high ? wide : with_height(wide, down);
}

const std::vector<std::pair<std::string, Fit>>& fits() {
  static const std::vector<std::pair<std::string, Fit>> all{
      {"cut", Fit::cut}, {"pad", Fit::pad}, {"stretch", Fit::stretch}, {"none", Fit::none}};
  return all;
}

const std::vector<std::pair<std::string, Resampling>>& resamplings() {
  static const std::vector<std::pair<std::string, Resampling>> all{
      {"area", Resampling::area},
      {"bilinear", Resampling::bilinear},
      {"bicubic", Resampling::bicubic}};
  return all;
}

const std::string& name_of(Fit fit) {
  return std::ranges::find(fits(), fit, &std::pair<std::string, Fit>::second)->first;
}

const std::string& name_of(Resampling how) {
  return std::ranges::find(resamplings(), how, &std::pair<std::string, Resampling>::second)->first;
}

Fitting scaled(Fitting how, const std::pair<int64_t, int64_t>& from,
               const std::pair<int64_t, int64_t>& to) {
  how.height = (how.height * to.first + from.first / 2) / from.first;
  how.width = (how.width * to.second + from.second / 2) / from.second;
  return how;
}

std::string told(const Fitting& how) {
  const std::string middle =
      how.height == 0
          ? ""
          : fmt::format(" to {} x {} pixels, of which they are the middle", how.height, how.width);
  return fmt::format("images.fit={} and images.resampling={}{}", name_of(how.fit),
                     name_of(how.resampling), middle);
}

namespace {

Image laid_on_black(const Image& image, int64_t height, int64_t width, Resampling how) {
  const double scale = std::min(static_cast<double>(height) / static_cast<double>(image.height),
                                static_cast<double>(width) / static_cast<double>(image.width));
  const auto side = [scale](int64_t old, int64_t most) {
    return std::clamp<int64_t>(std::llround(static_cast<double>(old) * scale), 1, most);
  };
  const Image inner = resized(image, whole_region(image), side(image.height, height),
                              side(image.width, width), how);
  Image made = black_image(image.channels, height, width);
  const int64_t top = (height - inner.height) / 2, left = (width - inner.width) / 2;
  for (int64_t channel = 0; channel < inner.channels; ++channel)
    for (int64_t y = 0; y < inner.height; ++y)
      std::copy_n(inner.values.data() + (channel * inner.height + y) * inner.width, inner.width,
                  made.values.data() + (channel * height + top + y) * width + left);
  return made;
}

Image middle_of(const Image& image, int64_t height, int64_t width) {
  SKEIN_CHECK(image.height >= height && image.width >= width);
  const auto top = static_cast<double>((image.height - height) / 2),
             left = static_cast<double>((image.width - width) / 2);
  return resized(image,
                 {left, top, left + static_cast<double>(width), top + static_cast<double>(height)},
                 height, width, Resampling::area);
}

}  // namespace

Image fitted(const Image& image, int64_t height, int64_t width, const Fitting& how) {
  if (how.height > 0)
    return middle_of(fitted(image, how.height, how.width, {how.fit, how.resampling}), height,
                     width);
  if (how.fit == Fit::none) {
    require(image.height == height && image.width == width,
            "the picture has {} x {} pixels (height, width), but {} x {} are read and "
            "images.fit=none resizes nothing; give another",
            image.height, image.width, height, width);
    return image;
  }
  if (how.fit == Fit::stretch) {
    require(
        image.height <= kMostBetween / width,
        "a picture of {} x {} pixels cannot be stretched to {} x {}: {} rows of {} are too many",
        image.height, image.width, height, width, image.height, width);
    return resized(image, whole_region(image), height, width, how.resampling);
  }
  return how.fit == Fit::pad
             ? laid_on_black(image, height, width, how.resampling)
             : resized(image, middle_region(image, height, width), height, width, how.resampling);
}

}  // namespace skein::data
