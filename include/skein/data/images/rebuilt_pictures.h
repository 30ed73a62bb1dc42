// What a model makes of pictures that it sees in part, to be looked at.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/data/images/image.h"
#include "skein/data/images/picture_form.h"

namespace skein::data {

// A row for sheet_of: the picture, the picture with grey for its hidden patches, and with what the
// model says of these instead. hidden: their numbers; said: [hidden, numbers of a patch], as the
// model says them (hidden_patches.h).
std::vector<Image> rebuilt_row(const Image& picture, std::span<const int32_t> hidden,
                               std::span<const float> said, const PictureForm& form);

}  // namespace skein::data
