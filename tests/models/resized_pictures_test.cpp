// Positions of another size of pictures, against torch.
#include "skein/models/resized_pictures.h"

#include <gtest/gtest.h>

namespace skein {
namespace {

data::PictureForm grid(int64_t rows, int64_t columns, bool class_token = true) {
  return {.channels = 1,
          .height = 4 * rows,
          .width = 2 * columns,
          .patch_height = 4,
          .patch_width = 2,
          .class_token = class_token};
}

// Two numbers for each place.
std::vector<float> positions(int64_t rows, int64_t columns) {
  std::vector<float> made;
  for (int64_t i = 0; i < 2 * (rows * columns + 1); ++i)
    made.push_back(static_cast<float>((i * 7) % 11 - 5) / 4);
  return made;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-5) << i;
}

// torch.nn.functional.interpolate(..., mode="bicubic", align_corners=False) of torch 2.
TEST(ResizedPictures, PositionsAreThoseOfTorch) {
  expect_near(resized_positions(positions(2, 3), grid(2, 3), grid(3, 5)),
              {-1.25,      0.5,        -0.5285973, 1.485403,   -0.2195969, 0.4634025,  0.2934029,
               -0.7065973, 0.8064029,  -0.3915969, 1.115403,   0.1154028,  -0.822,     1.192,
               -0.5129996, 0.1699996,  0,          -1,         0.513,      -0.6849996, 0.8220001,
               -0.1780001, -1.115403,  0.8985974,  -0.8064024, -0.1234031, -0.2934027, -1.293403,
               0.2195973,  -0.9784024, 0.5285974,  -0.4714029});
  expect_near(resized_positions(positions(5, 4), grid(5, 4), grid(2, 3)),
              {-1.25, 0.5, -0.2434253, -0.7047618, 1.222015, -0.2664185, -0.4862887, 0.8223739,
               0.4753691, -0.5723743, 0.08300781, 0.7430115, -0.3093528, -1.115348});
  expect_near(resized_positions(positions(1, 2), grid(1, 2), grid(2, 2)),
              {-1.25, 0.5, -0.5, 1.25, 0.25, -0.75, -0.5, 1.25, 0.25, -0.75});
}

TEST(ResizedPictures, OfTheSameGridStayToTheBit) {
  EXPECT_EQ(resized_positions(positions(3, 5), grid(3, 5), grid(3, 5)), positions(3, 5));
}

TEST(ResizedPictures, WithoutAClassTokenAllArePatches) {
  const std::vector<float> all = positions(2, 3), patches(all.begin() + 2, all.end());
  const std::vector<float> made = resized_positions(all, grid(2, 3), grid(3, 5));
  EXPECT_EQ(resized_positions(patches, grid(2, 3, false), grid(3, 5, false)),
            std::vector<float>(made.begin() + 2, made.end()));
}

TEST(ResizedPictures, AreToldWithBothGrids) {
  EXPECT_EQ(told_resizing(grid(2, 3), grid(4, 4), Positions::learned),
            "pictures of 16 x 8 pixels (height, width) instead of 8 x 6: learned positions are "
            "resized bicubically, from a grid of 2 x 3 patches to one of 4 x 4");
  EXPECT_NE(told_resizing(grid(2, 3), grid(4, 4), Positions::sinusoidal)
                .find("positions by waves are made anew"),
            std::string::npos);
}

}  // namespace
}  // namespace skein
