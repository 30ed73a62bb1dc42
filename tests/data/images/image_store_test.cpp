// Stores of pictures, from every layout that pictures come in.
#include "skein/data/images/image_store.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "skein/data/images/image_samples.h"
#include "skein/data/images/picture_sheet.h"

#include "data/data_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const std::string kGolden = fs::absolute("data/golden/images/");

Image plain(int64_t channels, int64_t side, uint8_t value) {
  Image made = black_image(channels, side, side);
  std::ranges::fill(made.values, value);
  return made;
}

void write_picture(const std::string& path, const Image& image) {
  fs::create_directories(fs::path(path).parent_path());
  write_file(path, encode_png(image));
}

// folder/{cat,dog}/, of two and one grey pictures of 4 x 4.
std::string two_classes(const Scratch& scratch) {
  write_picture(scratch.file("set/dog/a.png"), plain(1, 4, 30));
  write_picture(scratch.file("set/cat/2.png"), plain(1, 4, 20));
  write_picture(scratch.file("set/cat/1.png"), plain(1, 4, 10));
  return scratch.file("set");
}

ImageStoreConfig config_of(const Scratch& scratch, const std::string& input) {
  ImageStoreConfig made;
  made.files.inputs = {input};
  made.output = scratch.file("made.h5");
  return made;
}

ImageRecords made_store(const ImageStoreConfig& config) {
  write_image_store(config);
  return ImageRecords(std::make_shared<const Records>(config.output, true));
}

std::vector<int> first_values(const ImageRecords& images) {
  std::vector<int> made;
  for (int64_t i = 0; i < images.count(); ++i) made.push_back(images.values(i)[0]);
  return made;
}

std::vector<int> labels(const ImageRecords& images) {
  std::vector<int> made;
  for (int64_t i = 0; i < images.count(); ++i) made.push_back(images.label(i));
  return made;
}

void expect_refused(const ImageStoreConfig& config, std::initializer_list<std::string> words) {
  expect_error(ExitCode::usage, words, [&] { write_image_store(config); });
  EXPECT_FALSE(fs::exists(config.output));
}

std::string idx(uint8_t dims, std::initializer_list<uint8_t> sizes, const std::string& values) {
  std::string made{0, 0, 8, static_cast<char>(dims)};
  for (const uint8_t size : sizes) made += std::string{0, 0, 0, static_cast<char>(size)};
  return made + values;
}

TEST(ImageStore, OfAFolderForEachClass) {
  const Scratch scratch;
  const ImageRecords images = made_store(config_of(scratch, two_classes(scratch)));
  EXPECT_EQ(images.count(), 3);
  EXPECT_EQ(images.channels(), 1);
  EXPECT_EQ(images.height(), 4);
  EXPECT_EQ(images.width(), 4);
  EXPECT_EQ(images.classes(), (Words{"cat", "dog"}));
  EXPECT_EQ(labels(images), (std::vector{0, 0, 1}));
  EXPECT_EQ(first_values(images), (std::vector{10, 20, 30}));
  ASSERT_EQ(images.meaning().mean.size(), 1u);
  EXPECT_NEAR(images.meaning().mean[0], 20 / 255.0, 1e-12);
  EXPECT_NEAR(images.meaning().deviation[0], std::sqrt(200 / 3.0) / 255, 1e-12);
}

TEST(ImageStore, DoesNotDependOnThreads) {
  const Scratch scratch;
  ImageStoreConfig config = config_of(scratch, scratch.file("set"));
  for (int i = 0; i < 100; ++i)
    write_picture(scratch.file(fmt::format("set/class{}/{}.png", i % 3, i)),
                  plain(3, 5 + i % 4, static_cast<uint8_t>(i)));
  config.height = config.width = 6;
  config.threads = 1;
  made_store(config);
  const std::string once = bytes_of_file(config.output);
  config.threads = 4;
  config.replace = true;
  const ImageCounts counts = write_image_store(config);
  EXPECT_EQ(bytes_of_file(config.output), once);
  EXPECT_EQ(counts.of_class, (std::vector<int64_t>{34, 33, 33}));
}

TEST(ImageStore, OfATable) {
  const Scratch scratch;
  two_classes(scratch);
  write_file(scratch.file("table.csv"), "path,label\nset/dog/a.png,b\nset/cat/1.png,a\n");
  ImageStoreConfig config = config_of(scratch, scratch.file("table.csv"));
  const ImageRecords images = made_store(config);
  EXPECT_EQ(images.classes(), (Words{"a", "b"}));
  EXPECT_EQ(labels(images), (std::vector{1, 0}));
  EXPECT_EQ(first_values(images), (std::vector{30, 10}));
  config.replace = true;
  config.files.classes = {"b", "a", "c"};
  EXPECT_EQ(labels(made_store(config)), (std::vector{0, 1}));
  config.output = scratch.file("other.h5");
  config.files.classes = {"b"};
  expect_refused(config, {"table.csv:3", "\"a\""});
  config.files.path_column = "file";
  expect_refused(config, {"no column \"file\" for the path"});
  config.files.path_column = "1";
  config.files.label_column = "2";
  expect_refused(config, {"say header yes or no (images.header)"});
  config.files.path_column = "path";
  config.files.label_column = "label";
  write_file(scratch.file("table.csv"), "path,label\nset/none.png,b\n");
  config.files.classes = {};
  expect_error(ExitCode::usage, {"set/none.png"}, [&] { write_image_store(config); });
}

TEST(ImageStore, OfIdxFiles) {
  const Scratch scratch;
  write_file(scratch.file("images"), idx(3, {2, 1, 3}, "abcdef"));
  write_file(scratch.file("labels"), idx(1, {2}, std::string{7, 0}));
  ImageStoreConfig config = config_of(scratch, scratch.file("images"));
  config.files.labels = {scratch.file("labels")};
  const ImageRecords images = made_store(config);
  EXPECT_EQ(images.height(), 1);
  EXPECT_EQ(images.width(), 3);
  EXPECT_EQ(images.classes().size(), 8u);
  EXPECT_EQ(labels(images), (std::vector{7, 0}));
  EXPECT_EQ(first_values(images), (std::vector<int>{'a', 'd'}));

  config.output = scratch.file("other.h5");
  config.files.classes = {"zero", "one"};
  expect_refused(config, {"labels has the label 7", "2 classes"});
  config.files.classes = {};
  write_file(scratch.file("labels"), idx(1, {3}, std::string{7, 0, 1}));
  expect_refused(config, {"labels has 3 labels", "images has 2 images"});
  write_file(scratch.file("labels"), idx(3, {2}, "ab"));
  expect_refused(config, {"labels begins with 00 00 08 03", "00 00 08 01"});
  config.files.labels = {};
  config.background = Colour{255, 0, 0};
  expect_refused(config, {"1 IDX files of images and 0 of labels"});
  config.files.labelled = false;
  expect_refused(config, {"images.background is for files with transparent pixels"});
  config.background.reset();
  config.files.path_column = "nonsense";
  expect_refused(config, {"images.path, images.label and images.header are for tables"});
  config.files.path_column = "path";
  config.files.label_column = "nonsense";
  expect_refused(config, {"images.label=nonsense is not looked at"});
  config.files.label_column = "label";
  config.files.labelled = false;
  EXPECT_TRUE(made_store(config).classes().empty());
}

TEST(ImageStore, RefusesIdxFilesThatLie) {
  const Scratch scratch;
  ImageStoreConfig config = config_of(scratch, scratch.file("images"));
  config.files.labelled = false;
  write_file(config.files.inputs[0], idx(3, {2, 1, 3}, "abcde"));
  expect_refused(config, {"images is cut short", "ends after 21 bytes"});
  write_file(config.files.inputs[0], idx(3, {2, 1, 3}, "abcdefg"));
  expect_refused(config, {"images has more bytes than it announces, 22"});
  write_file(config.files.inputs[0], idx(3, {1, 0, 3}, ""));
  expect_refused(config, {"images has images of 0 x 3 pixels"});
}

TEST(ImageStore, OfCifarFiles) {
  const Scratch scratch;
  std::string ten, hundred;
  for (const char label : {char{3}, char{9}}) {
    ten += label + std::string(3072, label);
    hundred += std::string{1, label} + std::string(3072, label);
  }
  write_file(scratch.file("ten.bin"), ten);
  write_file(scratch.file("hundred.bin"), hundred);
  ImageStoreConfig config = config_of(scratch, scratch.file("ten.bin"));
  expect_refused(config, {"ten.bin is no folder, table", "images.format=cifar10"});
  config.files.layout = ImageLayout::table;
  expect_refused(config, {"whether ", "let it end in .csv, .tsv or .jsonl"});
  config.files.layout = ImageLayout::cifar10;
  const ImageRecords images = made_store(config);
  EXPECT_EQ(images.channels(), 3);
  EXPECT_EQ(images.classes().size(), 10u);
  EXPECT_EQ(labels(images), (std::vector{3, 9}));
  EXPECT_EQ(first_values(images), (std::vector{3, 9}));
  config = config_of(scratch, scratch.file("hundred.bin"));
  config.replace = true;
  config.files.layout = ImageLayout::cifar100;
  EXPECT_EQ(labels(made_store(config)), (std::vector{3, 9}));
  config.output = scratch.file("other.h5");
  config.files.layout = ImageLayout::cifar10;
  expect_refused(config, {"hundred.bin is cut short"});
}

TEST(ImageStore, SizesAndChannelsMustAgreeOrBeAskedFor) {
  const Scratch scratch;
  two_classes(scratch);
  write_picture(scratch.file("set/dog/b.png"), plain(1, 6, 40));
  ImageStoreConfig config = config_of(scratch, scratch.file("set"));
  expect_refused(config, {"dog/b.png has 6 x 6 pixels", "4 x 4", "images.size"});
  config.height = config.width = 4;
  EXPECT_EQ(first_values(made_store(config)), (std::vector{10, 20, 30, 40}));
  write_picture(scratch.file("set/dog/c.png"), plain(3, 4, 50));
  config.output = scratch.file("other.h5");
  expect_refused(config, {"dog/c.png has 3 channels", "has 1", "images.channels"});
  config.channels = 3;
  EXPECT_EQ(made_store(config).channels(), 3);
}

TEST(ImageStore, LeavesOutWhatMayBeLeftOut) {
  const Scratch scratch;
  two_classes(scratch);
  write_file(scratch.file("set/dog/b.png"), "no picture");
  write_file(scratch.file("set/dog/notes.txt"), "no picture");
  ImageStoreConfig config = config_of(scratch, scratch.file("set"));
  expect_refused(config, {"dog/b.png is no PNG, JPEG or PNM file"});
  config.bad_records = 1;
  EXPECT_EQ(write_image_store(config).left_out, 1);
}

TEST(ImageStore, RefusesFoldersThatAreNone) {
  const Scratch scratch;
  fs::create_directory(scratch.file("set"));
  ImageStoreConfig config = config_of(scratch, scratch.file("set"));
  expect_refused(config, {"set has no folders", "images.labelled=false"});
  fs::create_directory(scratch.file("set/empty"));
  expect_refused(config, {"set/empty holds no pictures"});
  fs::remove(scratch.file("set/empty"));
  two_classes(scratch);
  config.files.classes = {"cat", "dig"};
  expect_refused(config, {"set/dog is a class that images.classes does not name", "dig"});
  config.files.classes = {};
  config.files.labelled = false;
  const ImageRecords images = made_store(config);
  EXPECT_EQ(images.count(), 3);
  EXPECT_EQ(images.label(0), -1);
  config.files.inputs = {scratch.file("nothing")};
  config.output = scratch.file("other.h5");
  expect_refused(config, {"cannot read", "nothing"});
}

TEST(ImageStore, OptionsSayWhatIsWrong) {
  const auto refused = [](const ImageStoreOptions& given,
                          std::initializer_list<std::string> words) {
    expect_error(ExitCode::usage, words, [&] { settled(given); });
  };
  ImageStoreOptions given;
  given.size = "160x224";
  EXPECT_EQ(settled(given).height, 160);
  EXPECT_EQ(settled(given).width, 224);
  for (const char* bad : {"0", "x", "4x", "4x5x6", "-3", "1e9", "99999999"}) {
    given.size = bad;
    refused(given, {std::string("images.size=") + bad, "HEIGHTxWIDTH"});
  }
  given.size = "8";
  given.config.channels = 2;
  refused(given, {"images.channels=2"});
}

TEST(AugmentedSample, MixesPicturesAndTheirLabels) {
  const Scratch scratch;
  const ImageRecords images = made_store(config_of(scratch, two_classes(scratch)));  // 10, 20, 30
  AugmentConfig config;
  EXPECT_EQ(augmented_sample(images, config, {1, 0, 2}).image.values, plain(1, 4, 30).values);
  config.mixup = 1;
  bool seen_other = false;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const AugmentedSample made = augmented_sample(images, config, {1, epoch, 2});
    EXPECT_EQ(made.label, 1);
    const double other = (made.image.values[0] - (1 - made.share) * 30) / made.share;
    if (made.second == 0 && made.share > 0.2) {
      EXPECT_TRUE(other > 7 && other < 23) << other;
    }
    seen_other = seen_other || made.second == 0;
  }
  EXPECT_TRUE(seen_other);
  config.mixup = 0;
  config.cutmix = 1;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    const AugmentedSample made = augmented_sample(images, config, {1, epoch, 2});
    const auto taken = std::ranges::count_if(made.image.values, [](int v) { return v < 30; });
    if (made.second == 0) {
      EXPECT_EQ(static_cast<double>(taken), 16 * made.share);
    }
  }
}

TEST(AugmentedSample, ErasesToTheMeanColour) {
  const Scratch scratch;
  const ImageRecords images = made_store(config_of(scratch, two_classes(scratch)));
  AugmentConfig config;
  config.erase = 1;
  const std::vector<uint8_t> made = augmented_sample(images, config, {1, 3, 2}).image.values;
  EXPECT_TRUE(std::ranges::all_of(made, [](int value) { return value == 20 || value == 30; }));
  EXPECT_GT(std::ranges::count(made, 20), 0);
}

TEST(ImageSamples, PatchesLieByChannelRowAndColumn) {
  Image image = black_image(2, 4, 6);
  for (size_t i = 0; i < image.values.size(); ++i) image.values[i] = static_cast<uint8_t>(5 * i);
  const PictureForm form{.channels = 2,
                         .height = 4,
                         .width = 6,
                         .patch_height = 2,
                         .patch_width = 3,
                         .class_token = true,
                         .mean = {0, 0.5},
                         .deviation = {1, 0.25}};
  EXPECT_EQ(form.patches(), 4);
  EXPECT_EQ(form.tokens(), 5);
  EXPECT_EQ(form.patch_numbers(), 12);
  std::vector<float> numbers(4 * 12);
  fill_patches(image, form, numbers.data());
  for (int64_t patch = 0; patch < 4; ++patch)
    for (int64_t i = 0; i < 12; ++i) {
      const int64_t channel = i / 6, row = patch / 2 * 2 + i / 3 % 2,
                    column = patch % 2 * 3 + i % 3;
      const double value = image.values[(channel * 4 + row) * 6 + column] / 255.0;
      EXPECT_FLOAT_EQ(numbers[patch * 12 + i],
                      static_cast<float>((value - form.mean[channel]) / form.deviation[channel]));
    }
}

TEST(ImageSamples, AreTheSameByAnyNumberOfThreads) {
  const Scratch scratch;
  const AugmentConfig augment{.crop = 0.3, .rotate = 20, .erase = 0.5, .mixup = 1, .cutmix = 1};
  const PictureForm form{.channels = 1,
                         .height = 4,
                         .width = 4,
                         .patch_height = 2,
                         .patch_width = 2,
                         .mean = {0.5},
                         .deviation = {0.5}};
  ImageBlend blend;
  blend.parts.push_back(made_store(config_of(scratch, two_classes(scratch))));
  blend.weights = {1};
  const ImageSamples samples(std::move(blend), form, augment, 1, OrderKind::shuffled);
  const SampleRange range{.first = 1, .count = 30, .run = 3, .apart = 7};
  const Batch one = samples.batch(range), four = samples.batch(range, 4);
  const auto same = [](const Tensor& left, const Tensor& right) {
    return std::memcmp(left.bytes_data(), right.bytes_data(), left.bytes()) == 0;
  };
  EXPECT_TRUE(same(one.features, four.features));
  EXPECT_TRUE(same(one.targets, four.targets));
  EXPECT_TRUE(same(one.weights, four.weights));
  EXPECT_TRUE(same(one.sample_ids, four.sample_ids));
}

TEST(ImageRecords, RefuseOtherStores) {
  expect_error(ExitCode::usage, {"records.h5 is no store of pictures", "holds numbers"},
               [] { ImageRecords(std::make_shared<const Records>("data/golden/records.h5")); });
  RecordBuilder builder("many.h5", {{.name = kImageColumn,
                                     .meaning = ImageMeaning{},
                                     .ragged = false,
                                     .type = {Hdf5Type::Kind::integer, 1, false},
                                     .row_shape = {1, 1, 1}},
                                    category_column(kLabelColumn, {"cat", "dog"}, true)});
  const uint8_t pixel = 7;
  builder.add_image(0, {&pixel, 1});
  builder.end_record();
  expect_error(ExitCode::usage, {"many.h5", "\"label\" holds any number a record of categories"},
               [&] { ImageRecords(std::make_shared<const Records>(builder.finish())); });
}

}  // namespace
}  // namespace skein::data
