#include "skein/data/images/picture_sheet.h"

#include <algorithm>
#include <png.h>

#include "skein/core/error.h"

namespace skein::data {
namespace {

constexpr int64_t kMargin = 4, kUsualHeight = 64;
constexpr uint8_t kPaper = 255;

std::vector<uint8_t> interleaved(const Image& image) {
  const int64_t count = image.height * image.width;
  std::vector<uint8_t> made(image.values.size());
  for (int64_t channel = 0; channel < image.channels; ++channel)
    for (int64_t i = 0; i < count; ++i)
      made[i * image.channels + channel] = image.values[channel * count + i];
  return made;
}

// Both have three channels.
void draw(const Image& from, int64_t zoom, int64_t top, int64_t left, Image& to) {
  for (int64_t channel = 0; channel < 3; ++channel)
    for (int64_t y = 0; y < from.height * zoom; ++y)
      for (int64_t x = 0; x < from.width * zoom; ++x)
        to.values[(channel * to.height + top + y) * to.width + left + x] =
            from.values[(channel * from.height + y / zoom) * from.width + x / zoom];
}

}  // namespace

std::string encode_png(const Image& image) {
  png_image form{};
  form.version = PNG_IMAGE_VERSION;
  form.width = static_cast<png_uint_32>(image.width);
  form.height = static_cast<png_uint_32>(image.height);
  form.format = image.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  const std::vector<uint8_t> pixels = interleaved(image);
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(form);
  std::string made(size, '\0');
  if (!png_image_write_to_memory(&form, made.data(), &size, 0, pixels.data(), 0, nullptr))
    fail("a picture of {} x {} pixels cannot be made: {}", image.width, image.height,
         static_cast<const char*>(form.message));
  made.resize(size);
  return made;
}

Image sheet_of(const std::vector<std::vector<Image>>& rows, int64_t zoom) {
  SKEIN_CHECK(!rows.empty() && !rows.front().empty());
  size_t longest = 0;
  for (const auto& row : rows) longest = std::max(longest, row.size());
  const int64_t height = rows.front().front().height * zoom + kMargin,
                width = rows.front().front().width * zoom + kMargin;
  Image sheet = black_image(3, std::ssize(rows) * height + kMargin,
                            static_cast<int64_t>(longest) * width + kMargin);
  std::ranges::fill(sheet.values, kPaper);
  int64_t top = kMargin;
  for (const auto& row : rows) {
    int64_t left = kMargin;
    for (const Image& image : row) {
      draw(with_channels(image, 3), zoom, top, left, sheet);
      left += width;
    }
    top += height;
  }
  return sheet;
}

int64_t usual_zoom(int64_t height) { return std::max<int64_t>(1, kUsualHeight / height); }

}  // namespace skein::data
