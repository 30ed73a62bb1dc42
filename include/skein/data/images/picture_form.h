// How a model reads pictures: by patches.
#pragma once

#include <cstdint>
#include <vector>

namespace skein::data {

struct PictureForm {
  int64_t channels = 0, height = 0, width = 0;
  int64_t patch_height = 0, patch_width = 0;  // which divide height and width
  bool class_token = true;                    // a token ahead of the patches
  // Values / 255 become (value - mean) / deviation, a channel each.
  std::vector<double> mean{}, deviation{};
  // Patches of a picture that are hidden from the model, for it to say them: each as it is, or
  // normed (data/images/hidden_patches.h). 0: it sees all.
  int64_t hidden = 0;
  bool normed = false;

  int64_t patches() const { return height / patch_height * (width / patch_width); }
  int64_t seen() const { return patches() - hidden; }
  int64_t tokens() const { return seen() + (class_token ? 1 : 0); }
  int64_t patch_numbers() const { return channels * patch_height * patch_width; }
};

}  // namespace skein::data
