// Pictures in memory, and what files of pictures hold.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skein::data {

struct Image {
  int64_t channels = 0, height = 0, width = 0;
  std::vector<uint8_t> values;  // [channels,height,width]
};
// All of them 0.
Image black_image(int64_t channels, int64_t height, int64_t width);

using Colour = std::array<uint8_t, 3>;  // red, green, blue

// Whether a file that begins with these bytes is one that decode_image takes, by its signature.
bool is_image(std::string_view head);

// What a PNG, JPEG or PNM file (P2, P3, P5, P6) holds: one channel of grey or three of colours.
// 16-bit numbers become the nearest of 8 bits, palettes their colours. Where pixels are transparent
// they lie over `background`; grey ones over a colour become colours. JPEG is decoded as libjpeg
// does by default, without regard to what EXIF says of turning it. name: the file's, for messages.
// Usage errors naming it: for what is no such file, is damaged or cut short; for a JPEG of four
// inks or of more than 64 scans; for transparent pixels without a background; for more than 2^28
// pixels, or more than both 2^23 and 64 for each of its bytes, with both numbers.
Image decode_image(std::span<const std::byte> file, const std::string& name,
                   const std::optional<Colour>& background = {});

// Of three channels, or of one; the image itself where it has as many. Grey becomes three equal
// channels, colours their luma by ITU-R BT.601, (19595 R + 38470 G + 7471 B) / 65536.
Image with_channels(Image image, int64_t channels);

// "#ff8000" or "ff8000". A usage error naming the option for anything else.
Colour colour_of(const std::string& text, const std::string& option);

}  // namespace skein::data
