// Pictures with labels as records: a column "image" of u8 [channels,height,width], and a column
// "label" of the ids of classes where they have labels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/columns/record_sink.h"
#include "skein/data/columns/records.h"
#include "skein/data/files/progress.h"
#include "skein/data/images/image_files.h"
#include "skein/data/images/resize.h"

namespace skein::data {

inline constexpr const char *kImageColumn = "image", *kLabelColumn = "label";

struct ImageStoreConfig {
  ImageFilesConfig files;
  int64_t height = 0, width = 0;  // of all; 0: those of the first, which all others must have
  Fit fit = Fit::cut;
  Resampling resampling = Resampling::bilinear;
  int64_t channels = 0;  // 1 or 3; 0: those of the first
  std::optional<Colour> background{};
  int64_t bad_records = 0;  // pictures that are left out, such as damaged files, before an error
  std::string output;
  bool replace = false;  // a store that is there already
  int threads = 0;       // 0: one a processor
};
// Binds images.fit, images.resampling and images.background: how pictures come to a size.
void bind_fitting(Options& options, Fit& fit, Resampling& resampling, std::string& background);

// As options say it, before it is settled.
struct ImageStoreOptions {
  ImageStoreConfig config;
  std::string size, background;
};
void bind(Options& options, ImageStoreOptions& given);
// A usage error for a size or a colour that is none, a size of more than 2^26 pixels, channels
// other than 1 and 3, and for a fit or a resampling without a size.
ImageStoreConfig settled(const ImageStoreOptions& given);

struct ImageCounts {
  int64_t images = 0, left_out = 0;
  int64_t channels = 0, height = 0, width = 0;
  std::vector<int64_t> of_class;
  double seconds = 0;
};

// Reads, decodes and resizes on all threads, and writes in the order of the input, in bounded
// memory: the store depends on the input alone. Usage errors as ImageFiles and decode_image, for
// images of different sizes where none is asked for, and for inputs without any picture that can be
// used; nothing is then left behind or changed.
ImageCounts write_image_store(const ImageStoreConfig& config, const ProgressCall& progress = {});

// A store's pictures, as a run reads them.
class ImageRecords {
 public:
  // A usage error naming the store when it has no column of images, or its labels are none.
  explicit ImageRecords(std::shared_ptr<const Records> records);

  const Records& records() const { return *records_; }
  const std::shared_ptr<const Records>& shared() const { return records_; }
  int64_t count() const { return records_->count(); }
  int64_t channels() const { return shape_[0]; }
  int64_t height() const { return shape_[1]; }
  int64_t width() const { return shape_[2]; }
  const ImageMeaning& meaning() const { return *meaning_; }
  // Names by id; empty where there are no labels.
  const std::vector<std::string>& classes() const { return classes_; }

  std::span<const uint8_t> values(int64_t record) const;  // [channels,height,width]
  Image image(int64_t record) const;
  // -1 where there are no labels. A usage error for one outside of the classes: the store is
  // damaged.
  int32_t label(int64_t record) const;

 private:
  std::shared_ptr<const Records> records_;
  size_t image_column_;
  std::optional<size_t> label_column_;
  std::array<int64_t, 3> shape_{};
  const ImageMeaning* meaning_;
  std::vector<std::string> classes_;
};

}  // namespace skein::data
