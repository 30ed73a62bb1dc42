// Images side by side as one PNG file, to be looked at.
#pragma once

#include <string>
#include <vector>

#include "skein/data/images/image.h"

namespace skein::data {

// The bytes of a PNG file.
std::string encode_png(const Image& image);

// Rows of images of one size, and of one or three channels each, with a margin between them; small
// ones are drawn with `zoom` pixels a side for each of theirs.
Image sheet_of(const std::vector<std::vector<Image>>& rows, int64_t zoom = 1);
// The zoom at which an image is about 64 pixels high, at least 1.
int64_t usual_zoom(int64_t height);

}  // namespace skein::data
