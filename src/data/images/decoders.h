// The decoders of decode_image, one for each kind of file.
#pragma once

#include "skein/data/images/image.h"

namespace skein::data {

// A usage error when a file of so many bytes says more pixels than decode_image reads.
void check_pixels(const std::string& name, uint64_t width, uint64_t height, size_t bytes);
// Interleaved pixels [height,width,stored] as an image of the first `channels` of them.
Image planes_of(std::span<const uint8_t> pixels, int64_t stored, int64_t channels, int64_t height,
                int64_t width);

Image decode_png(std::span<const std::byte> file, const std::string& name,
                 const std::optional<Colour>& background);
Image decode_jpeg(std::span<const std::byte> file, const std::string& name);
Image decode_pnm(std::span<const std::byte> file, const std::string& name);

}  // namespace skein::data
