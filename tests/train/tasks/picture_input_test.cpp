// Pictures that commands are given, from stores and files, and what trained models say of them.
#include "skein/train/tasks/picture_input.h"

#include <gtest/gtest.h>

#include "skein/comm/local.h"
#include "skein/data/images/image_store.h"
#include "skein/data/images/picture_sheet.h"
#include "skein/models/architecture.h"

#include "data/data_fixtures.h"

namespace skein::train {
namespace {

using test::expect_error;
using test::Scratch;

constexpr data::PictureForm kForm{
    .channels = 1, .height = 4, .width = 4, .patch_height = 2, .patch_width = 2};

data::Image grey(int64_t height, int64_t width, uint8_t value) {
  data::Image made = data::black_image(1, height, width);
  std::fill(made.values.begin(), made.values.end(), value);
  return made;
}

std::string write_store(const std::string& path, int64_t count, int64_t side = 4) {
  data::ColumnInfo images{
      .name = data::kImageColumn,
      .meaning = data::ImageMeaning{},
      .ragged = false,
      .type = {data::Hdf5Type::Kind::integer, 1, false},
      .row_shape = {1, static_cast<uint64_t>(side), static_cast<uint64_t>(side)}};
  data::RecordWriter writer(path,
                            {images, data::category_column(data::kLabelColumn, {"dark", "light"})});
  for (int64_t i = 0; i < count; ++i) {
    writer.add_image(0, grey(side, side, static_cast<uint8_t>(40 * i)).values);
    writer.add_category(1, static_cast<int32_t>(i % 2));
    writer.end_record();
  }
  writer.finish();
  return path;
}

std::vector<NamedPicture> all_of(const std::string& path, size_t part,
                                 const PictureFitting& fitting = {}) {
  std::vector<NamedPicture> made;
  run_ranks(2, [&](Group& world) {
    PictureInput input(path, fitting, {fitting.fit, fitting.resampling}, kForm);
    std::vector<NamedPicture> own;
    for (auto next = input.next(part, world); !next.empty(); next = input.next(part, world)) {
      EXPECT_LE(next.size(), part);
      own.insert(own.end(), next.begin(), next.end());
    }
    if (world.rank() == 1) made = own;
  });
  return made;
}

TEST(PictureInputs, OfStoresHaveNumbersAndClasses) {
  const Scratch scratch;
  const std::string path = write_store(scratch.file("a.h5"), 5);
  for (const size_t part : {size_t{2}, size_t{5}, size_t{9}}) {
    const auto found = all_of(path, part);
    ASSERT_EQ(found.size(), 5u);
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].name, fmt::format("{}, image {}", path, i));
      EXPECT_EQ(found[i].truth, i % 2 ? "light" : "dark");
      EXPECT_EQ(found[i].image.values, std::vector<uint8_t>(16, static_cast<uint8_t>(40 * i)));
    }
  }
  expect_error(ExitCode::usage, {"images.fit", "a.h5 is a store"},
               [&] { all_of(path, 4, {.fit = data::Fit::pad}); });
  expect_error(ExitCode::usage, {"b.h5 has pictures of 1 x 6 x 6", "the model reads 1 x 4 x 4"},
               [&] { all_of(write_store(scratch.file("b.h5"), 1, 6), 4); });
}

TEST(PictureInputs, OfFilesAreBroughtToTheModelsSize) {
  const Scratch scratch;
  const std::string path = scratch.file("wide.png");
  data::Image wide = grey(4, 8, 0);
  for (int64_t y = 0; y < 4; ++y) std::fill_n(wide.values.begin() + y * 8 + 2, 4, 200);
  test::write_file(path, data::encode_png(wide));
  const auto cut = all_of(path, 4);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].name, path);
  EXPECT_EQ(cut[0].truth, "");
  EXPECT_EQ(cut[0].image.values, std::vector<uint8_t>(16, 200));
  const auto padded = all_of(path, 4, {.fit = data::Fit::pad});
  EXPECT_EQ(padded[0].image.values[0], 0);
  expect_error(ExitCode::usage, {"images.background=nothing"},
               [&] { all_of(path, 4, {.background = "nothing"}); });
  expect_error(ExitCode::usage, {"images.path and images.header are for tables", "is a picture"},
               [&] { all_of(path, 4, {.path_column = "xyz"}); });
  std::filesystem::create_directories(scratch.file("set/below"));
  test::write_file(scratch.file("set/below/b.png"), data::encode_png(grey(9, 9, 7)));
  test::write_file(scratch.file("set/a.png"), data::encode_png(grey(3, 3, 9)));
  expect_error(ExitCode::usage, {"images.header are for tables", "set is none"},
               [&] { all_of(scratch.file("set"), 4, {.header = data::Header::yes}); });
  const auto folder = all_of(scratch.file("set"), 1);
  ASSERT_EQ(folder.size(), 2u);
  EXPECT_EQ(folder[0].image.values, std::vector<uint8_t>(16, 9));
  EXPECT_EQ(folder[1].image.values, std::vector<uint8_t>(16, 7));
  test::write_file(scratch.file("cut.png"), data::encode_png(wide).substr(0, 40));
  expect_error(ExitCode::usage, {"cut.png"}, [&] { all_of(scratch.file("cut.png"), 4); });
  expect_error(ExitCode::usage, {"none.png"}, [&] { all_of(scratch.file("none.png"), 4); });
}

TEST(PictureInputs, AreSamplesWithoutWeight) {
  data::PictureForm form = kForm;
  form.mean = {0.5};
  form.deviation = {0.25};
  const std::vector<NamedPicture> pictures{{"a", "", grey(4, 4, 0)}, {"b", "", grey(4, 4, 255)}};
  const PictureSamples samples(pictures, form);
  EXPECT_EQ(samples.samples_per_epoch(), 2);
  const data::Batch batch = samples.batch(0, 2);
  EXPECT_EQ(batch.features.span<float>()[0], -2);
  EXPECT_EQ(batch.features.span<float>()[31], 2);
  for (const float weight : batch.weights.span<float>()) EXPECT_EQ(weight, 0);
}

TEST(PictureInputs, ReadFewerOfLargePictures) {
  data::PictureForm form = kForm;
  EXPECT_EQ(PictureInput("x", {}, {}, form).at_once(), 256u);
  form = {.channels = 3, .height = 1024, .width = 1024};
  EXPECT_EQ(PictureInput("x", {}, {}, form).at_once(), 21u);
  form.height = form.width = 65536;
  EXPECT_EQ(PictureInput("x", {}, {}, form).at_once(), 1u);
}

TEST(PictureInputs, ComeToTheSizeAsTheModelHasItUnlessOptionsSayOtherwise) {
  const data::Fitting of_model{data::Fit::stretch, data::Resampling::bicubic, 256, 256};
  const auto made = [&](const std::vector<std::string>& args) {
    PictureFitting fitting;
    Options options("test", "");
    bind(options, fitting);
    options.parse(args);
    return settled(options, fitting, of_model);
  };
  EXPECT_EQ(made({}), of_model);
  EXPECT_EQ(made({"--images.fit=cut"}), (data::Fitting{data::Fit::cut, of_model.resampling}));
  EXPECT_EQ(made({"--images.resampling=bilinear"}),
            (data::Fitting{data::Fit::stretch, data::Resampling::bilinear, 256, 256}));
}

TEST(PictureInputs, HaveOptionsThatTextsLack) {
  PictureFitting fitting;
  Options options("test", "");
  bind(options, fitting);
  EXPECT_NO_THROW(refuse_fitting(options, Reads::texts));
  options.set("images.fit", "pad", "");
  for (const Reads reads : {Reads::texts, Reads::graphs, Reads::stories})
    expect_error(
        ExitCode::usage,
        {fmt::format("images.fit is for pictures, but the model reads {}", name_of(reads))},
        [&] { refuse_fitting(options, reads); });
}

}  // namespace
}  // namespace skein::train
