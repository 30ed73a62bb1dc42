// Random changes of pictures: what they do, and that each depends on its key alone.
#include "skein/data/images/augment.h"

#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "support/expect_error.h"

namespace skein::data {
namespace {

Image ramp(int64_t channels, int64_t height, int64_t width) {
  Image made = black_image(channels, height, width);
  for (int64_t i = 0; i < std::ssize(made.values); ++i)
    made.values[i] = static_cast<uint8_t>(1 + i * 7 % 250);
  return made;
}

std::vector<uint8_t> changed(const AugmentConfig& config, int64_t image, int64_t epoch,
                             uint64_t seed = 1) {
  return augmented(ramp(2, 6, 5), config, {seed, epoch, image}).values;
}

AugmentConfig everything() {
  AugmentConfig made;
  made.crop = 0.5;
  made.aspect = 1.3;
  made.pad = 2;
  made.rotate = 20;
  made.shift = 0.1;
  made.flip = 0.5;
  made.brightness = made.contrast = 0.4;
  return made;
}

TEST(Augment, ChangesNothingByItself) { EXPECT_EQ(changed({}, 3, 1), ramp(2, 6, 5).values); }

TEST(Augment, IsAFunctionOfSeedEpochAndImage) {
  const AugmentConfig all = everything();
  EXPECT_EQ(changed(all, 3, 1), changed(all, 3, 1));
  EXPECT_NE(changed(all, 3, 1), changed(all, 4, 1));
  EXPECT_NE(changed(all, 3, 1), changed(all, 3, 2));
  EXPECT_NE(changed(all, 3, 1), changed(all, 3, 1, 2));
}

// What one option draws does not depend on the others.
TEST(Augment, ChangesDrawApart) {
  AugmentConfig pad, both;
  pad.pad = both.pad = 2;
  both.flip = 1;
  for (int64_t image = 0; image < 20; ++image) {
    Image moved{2, 6, 5, changed(pad, image, 0)};
    const std::vector<uint8_t> mirrored = changed(both, image, 0);
    for (int64_t i = 0; i < 60; ++i) EXPECT_EQ(mirrored[i], moved.values[i / 5 * 5 + 4 - i % 5]);
  }
}

TEST(Augment, PaddingMovesByWholePixels) {
  AugmentConfig config;
  config.pad = 1;
  const Image whole = ramp(1, 4, 4);
  std::set<std::pair<int, int>> moves;
  for (int64_t image = 0; image < 200; ++image) {
    const Image made = augmented(whole, config, {1, 0, image});
    for (int down = -1; down <= 1; ++down)
      for (int right = -1; right <= 1; ++right) {
        bool same = true;
        for (int y = 0; y < 4; ++y)
          for (int x = 0; x < 4; ++x) {
            const int from_y = y - down, from_x = x - right;
            const bool inside = from_y >= 0 && from_y < 4 && from_x >= 0 && from_x < 4;
            same =
                same && made.values[y * 4 + x] == (inside ? whole.values[from_y * 4 + from_x] : 0);
          }
        if (same) moves.insert({down, right});
      }
  }
  EXPECT_EQ(moves.size(), 9u);
}

TEST(Augment, TurnsAroundTheMiddle) {
  AugmentConfig config;
  config.rotate = 180;
  Image image = black_image(1, 9, 9);
  image.values[4 * 9 + 4] = 200;  // the middle stays, whatever the angle
  for (int64_t number = 0; number < 20; ++number)
    EXPECT_EQ(augmented(image, config, {1, 0, number}).values[4 * 9 + 4], 200);
  config.rotate = 0;
  config.shift = 0.5;
  const Image made = augmented(image, config, {1, 0, 7});
  EXPECT_NEAR(std::reduce(made.values.begin(), made.values.end(), 0), 200, 2);
  EXPECT_NE(made.values[4 * 9 + 4], 200);
}

TEST(Augment, BrightnessAndContrast) {
  AugmentConfig bright, flat;
  bright.brightness = 0.5;
  flat.contrast = 0.5;
  const Image grey{1, 1, 2, {100, 140}};
  double least = 255, most = 0;
  for (int64_t image = 0; image < 200; ++image) {
    const double value = augmented(grey, bright, {1, 0, image}).values[0];
    least = std::min(least, value);
    most = std::max(most, value);
    const Image made = augmented(grey, flat, {1, 0, image});
    EXPECT_NEAR(made.values[0] + made.values[1], 240, 1);
  }
  EXPECT_NEAR(least, 50, 3);
  EXPECT_NEAR(most, 150, 3);
}

TEST(Augment, CropsAreOfTheWantedArea) {
  AugmentConfig config;
  config.crop = 0.25;
  Image image = black_image(1, 32, 32);
  for (int64_t i = 0; i < 1024; ++i) image.values[i] = static_cast<uint8_t>(i % 32 * 8);
  double narrowest = 255;
  for (int64_t number = 0; number < 200; ++number) {
    const Image made = augmented(image, config, {1, 0, number});
    narrowest = std::min<double>(narrowest, made.values[31] - made.values[0]);
  }
  EXPECT_NEAR(narrowest, 124, 8);  // half of the side, 31 * 8
}

TEST(Augment, ErasesRectangles) {
  AugmentConfig config;
  config.erase = 0.5;
  int erasing = 0;
  for (int64_t image = 0; image < 400; ++image) {
    const Rectangle made = erased(config, {1, 0, image}, 30, 40);
    erasing += made.area() > 0;
    if (made.area() > 0) {
      EXPECT_GE(made.area(), 0.01 * 1200);
    }
    EXPECT_LE(made.area(), 0.34 * 1200 + 40);
    EXPECT_TRUE(made.top >= 0 && made.bottom <= 30 && made.left >= 0 && made.right <= 40);
  }
  EXPECT_NEAR(erasing, 200, 40);
}

TEST(Augment, MixesByBeta) {
  AugmentConfig config;
  config.mixup = 0.4;  // variance of Beta(a, a): 1 / (4 (2 a + 1))
  double sum = 0, squares = 0;
  const int count = 4000;
  for (int64_t image = 0; image < count; ++image) {
    const Mixing made = mixing(config, {1, 0, image}, 10, 8, 8);
    EXPECT_TRUE(made.other >= 0 && made.other < 10);
    EXPECT_EQ(made.cut.area(), 0);
    sum += made.share;
    squares += made.share * made.share;
  }
  const double mean = sum / count;
  EXPECT_NEAR(mean, 0.5, 0.02);
  EXPECT_NEAR(squares / count - mean * mean, 1 / (4 * 1.8), 0.01);
}

TEST(Augment, BetaOfASmallShapeIsNearlyAlwaysAtAnEnd) {
  AugmentConfig config;
  config.mixup = 0.001;
  int ends = 0;
  for (int64_t image = 0; image < 1000; ++image) {
    const double share = mixing(config, {1, 0, image}, 10, 8, 8).share;
    ends += share < 0.01 || share > 0.99;
    EXPECT_EQ(share * 0x1p24, std::round(share * 0x1p24)) << "not exact in f32";
  }
  EXPECT_GT(ends, 970);
}

TEST(Augment, CutsAsMuchAsItSays) {
  AugmentConfig config;
  config.cutmix = 1;
  for (int64_t image = 0; image < 100; ++image) {
    const Mixing made = mixing(config, {1, 0, image}, 10, 8, 6);
    EXPECT_NEAR(made.share, made.cut.area() / 48.0, 1e-7);
    EXPECT_TRUE(made.cut.bottom <= 8 && made.cut.right <= 6 && made.cut.top >= 0);
  }
  config.mixup = 1;
  int cuts = 0;
  for (int64_t image = 0; image < 400; ++image)
    cuts += mixing(config, {1, 0, image}, 10, 64, 64).cuts;
  EXPECT_NEAR(cuts, 200, 40);
}

TEST(Augment, RefusesNumbersOutOfRange) {
  const auto refused = [](auto AugmentConfig::*member, auto value, const std::string& text) {
    AugmentConfig config;
    config.*member = value;
    test::expect_error(ExitCode::usage, {text}, [&] { check(config); });
  };
  refused(&AugmentConfig::crop, 0.0, "augment.crop=0 must lie in (0, 1]");
  refused(&AugmentConfig::aspect, 0.5, "augment.aspect=0.5 must lie in [1, 100]");
  refused(&AugmentConfig::aspect, 1.5, "augment.aspect=1.5 is the form of what augment.crop");
  refused(&AugmentConfig::pad, int64_t{-1}, "augment.pad=-1");
  refused(&AugmentConfig::flip, 1.5, "augment.flip=1.5 must lie in [0, 1]");
  refused(&AugmentConfig::mixup, std::nan(""), "augment.mixup=nan");
  check(everything());
}

}  // namespace
}  // namespace skein::data
