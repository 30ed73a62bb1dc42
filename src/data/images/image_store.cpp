#include "skein/data/images/image_store.h"

#include <algorithm>

#include "skein/core/clock.h"
#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/core/strings.h"
#include "skein/data/corpus/corpus.h"
#include "skein/data/corpus/encode.h"
#include "skein/data/files/left_out.h"

#include "data/files/ordered_workers.h"

namespace skein::data {
namespace {

constexpr size_t kBatchImages = 64, kBatchFiles = 8, kBatchValues = size_t{1} << 20;
constexpr int64_t kMostSide = 65536;

int64_t side_of(std::string_view text, const std::string& whole) {
  const int64_t value = parsed_number<int64_t>(text).value_or(0);
  require(value >= 1 && value <= kMostSide,
          "images.size={} is no size; give a side from 1 to {}, or HEIGHTxWIDTH", whole, kMostSide);
  return value;
}

struct MadeImage {
  Image image;
  std::string name, refusal;
  int32_t label = -1;
};

using Stored = std::vector<StoredImage>;
using Made = std::vector<MadeImage>;

bool read_batch(ImageFiles& files, Stored& batch) {
  batch.clear();
  size_t values = 0, paths = 0;
  for (StoredImage one; batch.size() < kBatchImages && values < kBatchValues &&
                        paths < kBatchFiles && files.next(one);
       one = StoredImage()) {
    values += one.image.values.size();
    paths += !one.path.empty();
    batch.push_back(std::move(one));
  }
  return !batch.empty();
}

// What does not depend on other pictures.
MadeImage made_of(const StoredImage& stored, const ImageStoreConfig& config) {
  MadeImage made{{}, stored.name, "", stored.label};
  made.refusal = refusal_of([&] {
    made.image = loaded(stored, config.background);
    if (config.channels > 0) made.image = with_channels(std::move(made.image), config.channels);
    if (config.height > 0)
      made.image = with_origin(stored.name, [&] {
        return fitted(made.image, config.height, config.width, {config.fit, config.resampling});
      });
  });
  return made;
}

ColumnInfo image_column(const Image& first) {
  return {.name = kImageColumn,
          .meaning = ImageMeaning{},
          .ragged = false,
          .type = {Hdf5Type::Kind::integer, 1, false},
          .row_shape = {static_cast<uint64_t>(first.channels), static_cast<uint64_t>(first.height),
                        static_cast<uint64_t>(first.width)}};
}

std::vector<ColumnInfo> image_columns(const Image& first, const std::vector<std::string>& classes) {
  if (classes.empty()) return {image_column(first)};
  return {image_column(first), category_column(kLabelColumn, classes)};
}

// The columns lie in the order of their names: images first, then labels.
class ImageWriter {
 public:
  ImageWriter(const ImageStoreConfig& config, const std::vector<std::string>& classes)
      : config_(config), classes_(classes) {
    counts_.of_class.resize(classes.size());
  }

  // Leaves out what cannot be used, as far as that is allowed.
  void add(MadeImage& made) {
    use_or_leave_out(config_.bad_records, counts_.left_out, [&] {
      require(made.refusal.empty(), "{}", made.refusal);
      if (!writer_) begin(made.image);
      check(made);
      writer_->add_image(0, made.image.values);
      if (made.label >= 0) writer_->add_category(1, made.label);
      writer_->end_record();
      ++counts_.images;
      if (made.label >= 0) ++counts_.of_class[made.label];
    });
  }

  ImageCounts finish() {
    tell_more_left_out(counts_.left_out);
    require(counts_.images > 0, "{} hold no picture that can be used ({} left out)",
            listed(config_.files.inputs), counts_.left_out);
    writer_->finish();
    return counts_;
  }
  const ImageCounts& counts() const { return counts_; }

 private:
  void begin(const Image& first) {
    writer_.emplace(config_.output, image_columns(first, classes_), existing(config_.replace));
    counts_.channels = first.channels;
    counts_.height = first.height;
    counts_.width = first.width;
  }

  void check(MadeImage& made) const {
    const Image& image = made.image;
    require(image.height == counts_.height && image.width == counts_.width,
            "{} has {} x {} pixels, but the first picture has {} x {}; give images.size", made.name,
            image.height, image.width, counts_.height, counts_.width);
    require(image.channels == counts_.channels,
            "{} has {} channels, but the first picture has {}; give images.channels=1 or 3",
            made.name, image.channels, counts_.channels);
  }

  const ImageStoreConfig& config_;
  const std::vector<std::string>& classes_;
  std::optional<RecordWriter> writer_;
  ImageCounts counts_;
};

}  // namespace

void bind_fitting(Options& options, Fit& fit, Resampling& resampling, std::string& background) {
  options.add_choice("images.fit", fit, fits(),
                     "how pictures come to the size that is wanted: the middle of them, all of "
                     "them on black, all of them out of shape, or not: they have it");
  options.add_choice("images.resampling", resampling, resamplings(),
                     "what a new pixel is a mean of");
  options.add("images.background", background,
              "colour behind transparent pixels, such as ffffff; empty: they are an error");
}

void bind(Options& options, ImageStoreOptions& given) {
  ImageStoreConfig& c = given.config;
  bind(options, c.files);
  options.add(
      "images.size", given.size,
      "pixels of all pictures, such as 224 or 160x224 (height, width); empty: they have one "
      "size already");
  bind_fitting(options, c.fit, c.resampling, given.background);
  options.add("images.channels", c.channels,
              "1: grey, 3: colours; 0: as the first picture, which all others must be like");
  options.add("data.bad_records", c.bad_records,
              "pictures to leave out, such as damaged files, before giving up", "pictures");
}

ImageStoreConfig settled(const ImageStoreOptions& given) {
  ImageStoreConfig made = given.config;
  require(made.channels == 0 || made.channels == 1 || made.channels == 3,
          "images.channels={} must be 1 (grey), 3 (colours) or 0 (as the first picture)",
          made.channels);
  require(!given.size.empty() || (made.fit == Fit::cut && made.resampling == Resampling::bilinear),
          "images.fit and images.resampling say how pictures come to images.size; give it with "
          "them");
  if (!given.background.empty()) made.background = colour_of(given.background, "images.background");
  if (given.size.empty()) return made;
  const std::string_view size = given.size;
  const size_t cross = size.find('x');
  made.height = side_of(size.substr(0, cross), given.size);
  made.width = cross == size.npos ? made.height : side_of(size.substr(cross + 1), given.size);
  require(made.width <= kMostFittedPixels / made.height, "images.size={} is more than {} pixels",
          given.size, kMostFittedPixels);
  return made;
}

ImageCounts write_image_store(const ImageStoreConfig& config, const ProgressCall& progress) {
  const double begun = steady_seconds();
  std::vector<std::string> taken = config.files.inputs;
  std::ranges::copy(config.files.labels, std::back_inserter(taken));
  check_output("output.path", config.output, taken, existing(config.replace));
  ImageFiles files(config.files);
  check_background(files, config.background.has_value());
  ImageWriter writer(config, files.classes());
  const auto seconds = [&] { return steady_seconds() - begun; };
  OrderedWorkers<Stored, Made> workers(worker_threads(config.threads),
                                       [&](int, const Stored& batch) {
                                         Made made;
                                         for (const StoredImage& one : batch)
                                           made.push_back(made_of(one, config));
                                         return made;
                                       });
  workers.drive([&](Stored& batch) { return read_batch(files, batch); },
                [&](Made batch) {
                  for (MadeImage& made : batch) writer.add(made);
                  if (progress)
                    progress({.documents = writer.counts().images,
                              .seconds = seconds(),
                              .things = "pictures",
                              .documents_total = files.count()});
                });
  ImageCounts counts = writer.finish();
  counts.seconds = seconds();
  return counts;
}

ImageRecords::ImageRecords(std::shared_ptr<const Records> records)
    : records_(std::move(records)), image_column_(records_->column(kImageColumn)) {
  const ColumnInfo& images = records_->columns()[image_column_].info;
  meaning_ = std::get_if<ImageMeaning>(&images.meaning);
  require(meaning_ != nullptr,
          "{} is no store of pictures: its column \"{}\" holds {}; `skein-data images` makes one",
          records_->name(), kImageColumn, name_of(images.meaning));
  for (size_t i = 0; i < shape_.size(); ++i) shape_[i] = narrow<int64_t>(images.row_shape[i]);
  const auto labels = std::ranges::find(records_->columns(), kLabelColumn,
                                        [](const Column& column) { return column.info.name; });
  if (labels == records_->columns().end()) return;
  const auto* categories = std::get_if<CategoryMeaning>(&labels->info.meaning);
  require(categories != nullptr && !labels->info.ragged,
          "{}: the column \"{}\" holds {}{}, not the classes of pictures", records_->name(),
          kLabelColumn, labels->info.ragged ? "any number a record of " : "",
          name_of(labels->info.meaning));
  label_column_ = labels - records_->columns().begin();
  classes_ = categories->names;
}

std::span<const uint8_t> ImageRecords::values(int64_t record) const {
  const std::span<const std::byte> bytes = records_->values(image_column_, record);
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

Image ImageRecords::image(int64_t record) const {
  const std::span<const uint8_t> from = values(record);
  return {channels(), height(), width(), {from.begin(), from.end()}};
}

int32_t ImageRecords::label(int64_t record) const {
  return label_column_ ? records_->category(*label_column_, record) : -1;
}

}  // namespace skein::data
