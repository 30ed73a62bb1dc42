#include "skein/data/images/image.h"

#include <algorithm>
#include <charconv>

#include "skein/core/error.h"
#include "skein/core/strings.h"

#include "decoders.h"

namespace skein::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPng = "\x89PNG\r\n\x1A\n"sv, kJpeg = "\xFF\xD8\xFF"sv;
constexpr uint64_t kMostPixels = uint64_t{1} << 28, kSurelyRead = uint64_t{1} << 23;
constexpr uint64_t kPixelsPerByte = 64;

bool is_pnm(std::string_view head) {
  return head.size() > 2 && head[0] == 'P' && "2356"sv.find(head[1]) != std::string_view::npos &&
         (" \t\r\n#"sv.find(head[2]) != std::string_view::npos);
}

std::string_view head_of(std::span<const std::byte> file) {
  return {reinterpret_cast<const char*>(file.data()), std::min<size_t>(file.size(), 16)};
}

}  // namespace

Image black_image(int64_t channels, int64_t height, int64_t width) {
  return {channels, height, width, std::vector<uint8_t>(channels * height * width)};
}

bool is_image(std::string_view head) {
  return head.starts_with(kPng) || head.starts_with(kJpeg) || is_pnm(head);
}

void check_pixels(const std::string& name, uint64_t width, uint64_t height, size_t bytes) {
  require(width > 0 && height > 0, "{} is an image of {} x {} pixels: there is nothing in it", name,
          width, height);
  const uint64_t most = std::min(kMostPixels, std::max(kSurelyRead, kPixelsPerByte * bytes));
  require(width <= most / height,
          "{} says that it has {} x {} pixels in {} bytes; no more than {} are read of such a file",
          name, width, height, bytes, most);
}

Image planes_of(std::span<const uint8_t> pixels, int64_t stored, int64_t channels, int64_t height,
                int64_t width) {
  Image made = black_image(channels, height, width);
  const int64_t count = height * width;
  for (int64_t channel = 0; channel < channels; ++channel) {
    uint8_t* to = made.values.data() + channel * count;
    for (int64_t i = 0; i < count; ++i) to[i] = pixels[i * stored + channel];
  }
  return made;
}

Image decode_image(std::span<const std::byte> file, const std::string& name,
                   const std::optional<Colour>& background) {
  require(!file.empty(), "{} is empty", name);
  const std::string_view head = head_of(file);
  if (head.starts_with(kPng)) return decode_png(file, name, background);
  if (head.starts_with(kJpeg)) return decode_jpeg(file, name);
  require(is_pnm(head), "{} is no PNG, JPEG or PNM file (P2, P3, P5, P6): it begins with \"{}\"",
          name, excerpt(std::string(head)));
  return decode_pnm(file, name);
}

Image with_channels(Image image, int64_t channels) {
  SKEIN_CHECK((image.channels == 1 || image.channels == 3) && (channels == 1 || channels == 3));
  if (image.channels == channels) return image;
  const int64_t count = image.height * image.width;
  Image made = black_image(channels, image.height, image.width);
  if (channels == 3) {
    for (int64_t channel = 0; channel < 3; ++channel)
      std::ranges::copy(image.values, made.values.begin() + channel * count);
    return made;
  }
  const uint8_t *red = image.values.data(), *green = red + count, *blue = green + count;
  for (int64_t i = 0; i < count; ++i)
    made.values[i] = static_cast<uint8_t>(
        (19595u * red[i] + 38470u * green[i] + 7471u * blue[i] + 32768u) >> 16);
  return made;
}

Colour colour_of(const std::string& text, const std::string& option) {
  const std::string_view digits = std::string_view(text).substr(text.starts_with('#') ? 1 : 0);
  uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
  require(digits.size() == 6 && error == std::errc() && end == digits.data() + digits.size(),
          "{}={} is no colour; give red, green and blue as six hexadecimal digits, such as ffffff",
          option, text);
  return {static_cast<uint8_t>(number >> 16), static_cast<uint8_t>(number >> 8),
          static_cast<uint8_t>(number)};
}

}  // namespace skein::data
