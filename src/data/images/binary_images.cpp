// Files of many images of one size, without a header for each.
#include <algorithm>
#include <array>

#include "skein/core/error.h"
#include "skein/core/strings.h"
#include "skein/data/files/byte_source.h"

#include "image_sources.h"

namespace skein::data {
namespace {

// The bytes of a file, which must be as many as are asked for.
class WholeReader {
 public:
  explicit WholeReader(const std::string& path) : path_(path), source_(open_bytes(path)) {}

  const std::string& path() const { return path_; }
  // Fewer only at the end.
  size_t some(std::span<uint8_t> to) {
    size_t got = 0;
    for (size_t more = 1; got < to.size() && more > 0; got += more)
      more = source_->read(reinterpret_cast<char*>(to.data()) + got, to.size() - got);
    return got;
  }
  void all(std::span<uint8_t> to) {
    const size_t got = some(to);
    read_ += static_cast<int64_t>(got);
    require(got == to.size(), "{} is cut short: it ends after {} bytes, within what it announces",
            path_, read_);
  }
  // False where the file has ended before the first of them.
  bool all_or_end(std::span<uint8_t> to) {
    const size_t got = some(to.first(1));
    read_ += static_cast<int64_t>(got);
    if (got > 0) all(to.subspan(1));
    return got > 0;
  }
  void check_end() {
    uint8_t more = 0;
    require(some({&more, 1}) == 0, "{} has more bytes than it announces, {}", path_, read_);
  }

 private:
  std::string path_;
  std::unique_ptr<ByteSource> source_;
  int64_t read_ = 0;
};

constexpr int64_t kPart = int64_t{1} << 16, kMostIdxPixels = int64_t{1} << 24;

// The sizes that an IDX file of u8 has, which are `dims` many.
std::vector<int64_t> idx_sizes(WholeReader& file, size_t dims, const char* what) {
  std::array<uint8_t, 4> word{};
  file.all(word);
  require(word[0] == 0 && word[1] == 0 && word[2] == 8 && word[3] == dims,
          "{} begins with {:02x} {:02x} {:02x} {:02x}; an IDX file of {} begins with 00 00 08 "
          "{:02x}",
          file.path(), word[0], word[1], word[2], word[3], what, dims);
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < dims; ++i) {
    file.all(word);
    sizes.push_back(int64_t{word[0]} << 24 | word[1] << 16 | word[2] << 8 | word[3]);
  }
  return sizes;
}

class IdxImages : public ImageFiles::Source {
 public:
  IdxImages(const ImageFilesConfig& config, std::vector<std::string>& classes)
      : inputs_(config.inputs) {
    require(!config.labelled || config.labels.size() == config.inputs.size(),
            "{} IDX files of images and {} of labels were given (images.labels); each needs its "
            "own, or give images.labelled=false",
            config.inputs.size(), config.labels.size());
    if (config.labelled) label_paths_ = config.labels;
    for (const std::string& path : inputs_) {
      WholeReader file(path);
      counts_.push_back(idx_sizes(file, 3, "images").front());
    }
    if (config.labelled) count_classes(classes);
  }

  int64_t count() const override {
    int64_t sum = 0;
    for (const int64_t one : counts_) sum += one;
    return sum;
  }

  bool next(StoredImage& image) override {
    while (!file_ || at_ == counts_[opened_ - 1]) {
      if (file_) file_->check_end();
      if (opened_ == inputs_.size()) return false;
      open_next();
    }
    image = {fmt::format("{}, image {}", file_->path(), at_), "", black_image(1, height_, width_)};
    file_->all(image.image.values);
    if (labels_) {
      uint8_t label = 0;
      labels_->all({&label, 1});
      image.label = label;
    }
    ++at_;
    return true;
  }

 private:
  // The labels are read once for their number and the largest of them, and again beside the images.
  void count_classes(std::vector<std::string>& classes) {
    uint8_t largest = 0;
    std::string where = label_paths_.front();
    for (size_t i = 0; i < label_paths_.size(); ++i) {
      const uint8_t here = largest_label(i);
      if (here > largest) where = label_paths_[i];
      largest = std::max(largest, here);
    }
    number_classes(largest, where, classes);
  }

  uint8_t largest_label(size_t number) const {
    WholeReader file(label_paths_[number]);
    const int64_t count = idx_sizes(file, 1, "labels").front();
    require(count == counts_[number], "{} has {} labels, but {} has {} images", file.path(), count,
            inputs_[number], counts_[number]);
    uint8_t largest = 0;
    std::vector<uint8_t> part;
    for (int64_t left = count; left > 0; left -= std::ssize(part)) {
      part.resize(std::min(left, kPart));
      file.all(part);
      largest = std::max(largest, *std::ranges::max_element(part));
    }
    file.check_end();
    return largest;
  }

  void open_next() {
    const std::string& path = inputs_[opened_];
    file_ = std::make_unique<WholeReader>(path);
    const std::vector<int64_t> sizes = idx_sizes(*file_, 3, "images");
    height_ = sizes[1];
    width_ = sizes[2];
    require(height_ > 0 && width_ > 0 && width_ <= kMostIdxPixels / height_,
            "{} has images of {} x {} pixels; those of 1 to {} are read", path, height_, width_,
            kMostIdxPixels);
    if (!label_paths_.empty()) {
      labels_ = std::make_unique<WholeReader>(label_paths_[opened_]);
      idx_sizes(*labels_, 1, "labels");
    }
    at_ = 0;
    ++opened_;
  }

  std::vector<std::string> inputs_, label_paths_;
  std::vector<int64_t> counts_;
  std::unique_ptr<WholeReader> file_, labels_;
  size_t opened_ = 0;
  int64_t at_ = 0, height_ = 0, width_ = 0;
};

constexpr int64_t kCifarSide = 32;

class CifarImages : public ImageFiles::Source {
 public:
  CifarImages(const ImageFilesConfig& config, int labels, std::vector<std::string>& classes)
      : inputs_(config.inputs), labels_(labels), labelled_(config.labelled) {
    if (!labelled_) return;
    number_classes(labels == 1 ? 9 : 99, inputs_.front(), classes);
    classes_ = std::ssize(classes);
  }

  int64_t count() const override { return -1; }

  bool next(StoredImage& image) override {
    std::array<uint8_t, 2> label{};
    const std::span<uint8_t> wanted(label.data(), static_cast<size_t>(labels_));
    while (!file_ || !file_->all_or_end(wanted)) {
      if (opened_ == inputs_.size()) return false;
      file_ = std::make_unique<WholeReader>(inputs_[opened_++]);
      at_ = 0;
    }
    image = {fmt::format("{}, image {}", file_->path(), at_++), "",
             black_image(3, kCifarSide, kCifarSide)};
    file_->all(image.image.values);
    if (!labelled_) return true;
    image.label = wanted.back();
    require(image.label < classes_, "{} has the label {}, but there are {} classes", image.name,
            image.label, classes_);
    return true;
  }

 private:
  std::vector<std::string> inputs_;
  int labels_;
  bool labelled_;
  int64_t classes_ = 0;
  std::unique_ptr<WholeReader> file_;
  size_t opened_ = 0;
  int64_t at_ = 0;
};

}  // namespace

std::unique_ptr<ImageFiles::Source> idx_images(const ImageFilesConfig& config,
                                               std::vector<std::string>& classes) {
  return std::make_unique<IdxImages>(config, classes);
}

std::unique_ptr<ImageFiles::Source> cifar_images(const ImageFilesConfig& config, int labels,
                                                 std::vector<std::string>& classes) {
  return std::make_unique<CifarImages>(config, labels, classes);
}

}  // namespace skein::data
