// Decoded and resized pictures against Pillow's (tools/make_image_golden.py), and what is refused.
#include "skein/data/images/image.h"

#include "skein/core/json.h"
#include "skein/data/images/picture_sheet.h"
#include "skein/data/images/resize.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;

const std::string kFolder = "data/golden/images/";

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> file_of(const std::string& name) {
  return bytes_of(bytes_of_file(kFolder + name));
}

Image decoded(const std::string& name) { return decode_image(file_of(name), name); }

void expect_refused(const std::string& text, std::initializer_list<std::string> words) {
  expect_error(ExitCode::usage, words, [&] { decode_image(bytes_of(text), "x"); });
}

void expect_equal(const Image& left, const Image& right) {
  EXPECT_EQ(left.channels, right.channels);
  EXPECT_EQ(left.height, right.height);
  EXPECT_EQ(left.width, right.width);
  EXPECT_EQ(left.values, right.values);
}

TEST(Decode, IsWhatPillowDecodes) {
  for (const char* name : {"grey.png", "bits.png", "opaque.png", "grey.jpg"})
    expect_equal(decoded(name), decoded(std::string(name) + ".pgm"));
  for (const char* name : {"rgb.png", "palette.png", "rgb.jpg", "progressive.jpg"})
    expect_equal(decoded(name), decoded(std::string(name) + ".ppm"));
  EXPECT_EQ(decoded("grey.png").channels, 1);
  EXPECT_EQ(decoded("rgb.jpg").channels, 3);
}

// Pillow takes their high byte.
TEST(Decode, WideNumbersBecomeTheNearest) {
  expect_equal(decoded("wide.png"), decoded("wide.png.ppm"));
}

TEST(Decode, PnmOfAllKinds) {
  const std::vector<uint8_t> values{0, 51, 255, 102};
  expect_equal(decode_image(bytes_of("P2 # note\n2 2\n255\n0 51\n255 102\n"), "x"),
               {1, 2, 2, values});
  expect_equal(decode_image(bytes_of("P2\n2 2\n5\n0 1 5 2"), "x"), {1, 2, 2, values});
  expect_equal(decode_image(bytes_of("P3\n1 1\n255\n1 2 3"), "x"), {3, 1, 1, {1, 2, 3}});
  expect_equal(decode_image(bytes_of(std::string("P5\n1 2\n65535\n\x80\x00\xFF\xFF", 17)), "x"),
               {1, 2, 1, {128, 255}});
}

TEST(Decode, TransparentPixelsNeedABackground) {
  expect_error(ExitCode::usage,
               {"clear.png has transparent pixels", "row 3, column 5 (alpha 100 of 255)",
                "images.background"},
               [] { decoded("clear.png"); });
  const Image white = decode_image(file_of("clear.png"), "clear.png", Colour{255, 255, 255});
  const Image grey = decoded("grey.png");
  for (int64_t i = 0; i < std::ssize(white.values); ++i) {
    const int above = grey.values[i];
    EXPECT_EQ(white.values[i], i == 3 * 14 + 5 ? (above * 100 + 255 * 155 + 127) / 255 : above);
  }
}

TEST(Decode, GreyOverAColourBecomesColours) {
  const Image blue = decode_image(file_of("clear.png"), "clear.png", Colour{0, 0, 255});
  const Image grey = decoded("grey.png");
  ASSERT_EQ(blue.channels, 3);
  const int64_t pixels = std::ssize(grey.values), clear = 3 * 14 + 5;
  for (int64_t i = 0; i < 3 * pixels; ++i) {
    const int above = grey.values[i % pixels], below = i / pixels == 2 ? 255 : 0;
    EXPECT_EQ(blue.values[i],
              i % pixels == clear ? (above * 100 + below * 155 + 127) / 255 : above);
  }
  EXPECT_EQ(decode_image(file_of("opaque.png"), "opaque.png", Colour{0, 0, 255}).channels, 1);
}

TEST(Decode, RefusesWhatIsNoPicture) {
  expect_refused("", {"x is empty"});
  expect_refused("GIF89a", {"x is no PNG, JPEG or PNM file", "GIF89a"});
  expect_refused("P5\n0 7\n255\n", {"x is an image of 0 x 7 pixels"});
  expect_refused("P5\n7 7\n0\n", {"largest value is 0"});
  expect_refused("P5\n40000 30000\n255\nabc",
                 {"x says that it has 40000 x 30000 pixels in 22 bytes", "no more than 8388608"});
  expect_refused("P5\n7 7\n255\nabc", {"x is a PNM file that is cut short"});
  expect_refused("P2\n1 1\n9\n12", {"a value is 12, above its largest, 9"});
  expect_refused("P2\n1 1\n9\nab", {"at byte 9 a number should stand"});
}

// Every file but its whole is refused, and none of them crashes.
TEST(Decode, RefusesWhatIsCutShort) {
  for (const char* name : {"rgb.png", "grey.png", "wide.png", "rgb.jpg", "grey.png.pgm"}) {
    const std::string whole = bytes_of_file(kFolder + name);
    for (size_t kept = 1; kept < whole.size(); kept += 7) {
      const std::string refused =
          refusal_of([&] { decode_image(bytes_of(whole.substr(0, kept)), "x"); });
      EXPECT_NE(refused, "") << name << ", " << kept << " of " << whole.size();
    }
  }
  std::string flipped = bytes_of_file(kFolder + "rgb.png");
  flipped[60] ^= 1;
  expect_refused(flipped, {"x is a damaged PNG file: "});
}

TEST(Decode, RefusesSizesThatLie) {
  std::string big = bytes_of_file(kFolder + "grey.jpg");
  const size_t frame = big.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  big.replace(frame + 5, 4, "\xFF\xDC\xFF\xDC");  // height and width
  expect_refused(big, {"says that it has 65500 x 65500 pixels"});
}

TEST(Decode, RefusesAJpegOfManyScans) {
  expect_error(ExitCode::usage, {"scans.jpg is a damaged JPEG file: it has more than 64 scans"},
               [] { decoded("scans.jpg"); });
}

TEST(Channels, AreTurnedIntoEachOther) {
  const nlohmann::json golden = nlohmann::json::parse(bytes_of_file(kFolder + "resized.json"));
  const Image rgb = decoded("rgb.png"), luma = with_channels(rgb, 1);
  EXPECT_EQ(luma.channels, 1);
  EXPECT_EQ(luma.values, golden["luma"].get<std::vector<uint8_t>>());
  const Image three = with_channels(luma, 3);
  for (int64_t i = 0; i < std::ssize(three.values); ++i)
    EXPECT_EQ(three.values[i], luma.values[i % std::ssize(luma.values)]);
  expect_equal(with_channels(rgb, 3), rgb);
}

TEST(Colours, AreSixDigits) {
  EXPECT_EQ(colour_of("#ff8001", "images.background"), (Colour{255, 128, 1}));
  for (const char* bad : {"", "fff", "ff80011", "red", "ff 800"})
    expect_error(ExitCode::usage, {"images.background=", "is no colour"},
                 [&] { colour_of(bad, "images.background"); });
}

TEST(Resize, IsWhatPillowMakes) {
  const nlohmann::json golden = nlohmann::json::parse(bytes_of_file(kFolder + "resized.json"));
  const Image rgb = decoded("rgb.png");
  const std::map<std::string, Resampling> kinds{{"area", Resampling::area},
                                                {"bilinear", Resampling::bilinear},
                                                {"bicubic", Resampling::bicubic}};
  for (const auto& one : golden["resized"]) {
    const auto box = one["box"].get<std::vector<double>>();
    const int64_t height = one["height"], width = one["width"];
    const Image made =
        resized(rgb, {box[0], box[1], box[2], box[3]}, height, width, kinds.at(one["how"]));
    EXPECT_EQ(made.height, height);
    EXPECT_EQ(made.width, width);
    EXPECT_EQ(made.values, one["values"].get<std::vector<uint8_t>>())
        << one["how"] << ' ' << height << " x " << width;
  }
}

TEST(Resize, FitsByCuttingPaddingAndStretching) {
  Image image = black_image(1, 4, 8);  // columns of 0, 10, ...
  for (int64_t i = 0; i < 32; ++i) image.values[i] = static_cast<uint8_t>(i % 8 * 10);
  const auto fit = [&](Fit how) { return fitted(image, 4, 4, {how, Resampling::area}); };
  const std::vector<uint8_t> cut{20, 30, 40, 50}, stretched{5, 25, 45, 65}, none{0, 0, 0, 0};
  const auto row = [](const Image& made, int64_t y) {
    return std::vector<uint8_t>(made.values.begin() + y * 4, made.values.begin() + y * 4 + 4);
  };
  EXPECT_EQ(row(fit(Fit::cut), 0), cut);
  EXPECT_EQ(row(fit(Fit::stretch), 3), stretched);
  EXPECT_EQ(row(fit(Fit::pad), 0), none);
  EXPECT_EQ(row(fit(Fit::pad), 1), stretched);
  EXPECT_EQ(row(fit(Fit::pad), 3), none);
}

TEST(Resize, CutsTheMiddleOfALargerSizeOut) {
  Image image = black_image(1, 6, 9);
  for (int64_t i = 0; i < 54; ++i) image.values[i] = static_cast<uint8_t>(i * 4);
  const Fitting how{Fit::stretch, Resampling::bicubic, 8, 7};
  const Image large = fitted(image, 8, 7, {Fit::stretch, Resampling::bicubic});
  const Image made = fitted(image, 4, 4, how);
  ASSERT_EQ(made.height, 4);
  for (int64_t y = 0; y < 4; ++y)
    for (int64_t x = 0; x < 4; ++x)
      EXPECT_EQ(made.values[y * 4 + x], large.values[(y + 2) * 7 + x + 1]);
}

TEST(Resize, LeavesWhatMustHaveTheSize) {
  const Image image = black_image(1, 4, 8);
  expect_equal(fitted(image, 4, 8, {Fit::none}), image);
  expect_error(ExitCode::usage, {"4 x 8 pixels (height, width), but 4 x 4 are read"},
               [&] { fitted(image, 4, 4, {Fit::none}); });
}

TEST(Sheet, IsAPictureOfItsImages) {
  const Image grey = decoded("grey.png"), rgb = decoded("rgb.png");
  expect_equal(decode_image(bytes_of(encode_png(grey)), "x"), grey);
  expect_equal(decode_image(bytes_of(encode_png(rgb)), "x"), rgb);
  const Image sheet = sheet_of({{grey, rgb}, {rgb}}, 2);
  EXPECT_EQ(sheet.height, 2 * (22 + 4) + 4);
  EXPECT_EQ(sheet.width, 2 * (28 + 4) + 4);
  const auto at = [&](int64_t channel, int64_t y, int64_t x) {
    return sheet.values[(channel * sheet.height + y) * sheet.width + x];
  };
  EXPECT_EQ(at(0, 0, 0), 255);
  EXPECT_EQ(at(2, 4, 4), grey.values[0]);
  EXPECT_EQ(at(1, 5, 4 + 32 + 3), rgb.values[11 * 14 + 1]);
  EXPECT_EQ(at(0, 4 + 26, 4 + 32), 255);
  EXPECT_EQ(usual_zoom(28), 2);
  EXPECT_EQ(usual_zoom(500), 1);
}

}  // namespace
}  // namespace skein::data
