// What becomes of a trained model's positions where it is to read pictures of another size.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skein/data/images/picture_form.h"
#include "skein/models/config.h"

namespace skein {

// A line that says what they were and become, with both grids of patches.
std::string told_resizing(const data::PictureForm& from, const data::PictureForm& to,
                          Positions positions);

// Throws a usage error where `now`, which is `before` but for the size of its pictures, would have
// other tensors than positions in another shape: biases of windows that grids fit otherwise.
void check_resized(const ModelConfig& before, const ModelConfig& now);

// Learned positions [T,C] of the patches of `to`, by those of `from` [S,C], row-major: each number
// bicubically over rows and columns of patches, by the four nearest of either, with a = -0.75 and
// the outermost ones repeated beyond the border (Keys, "Cubic convolution interpolation for digital
// image processing", 1981; torch's interpolate with mode="bicubic" and align_corners=False). That
// of a class token, the first, is kept. Both sizes have such a token, or neither has.
std::vector<float> resized_positions(std::span<const float> positions,
                                     const data::PictureForm& from, const data::PictureForm& to);

}  // namespace skein
