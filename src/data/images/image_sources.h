// The layouts of ImageFiles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/data/images/image_files.h"

namespace skein::data {

class ImageFiles::Source {
 public:
  virtual ~Source() = default;
  virtual bool next(StoredImage& image) = 0;
  virtual int64_t count() const = 0;
};

// Each fills in `classes`, unless they are given or nothing is labelled.
std::unique_ptr<ImageFiles::Source> folder_images(const ImageFilesConfig& config,
                                                  std::vector<std::string>& classes);
std::unique_ptr<ImageFiles::Source> table_images(const ImageFilesConfig& config,
                                                 std::vector<std::string>& classes);
std::unique_ptr<ImageFiles::Source> idx_images(const ImageFilesConfig& config,
                                               std::vector<std::string>& classes);
std::unique_ptr<ImageFiles::Source> cifar_images(const ImageFilesConfig& config, int labels,
                                                 std::vector<std::string>& classes);

// "0", "1", ... of so many classes, where none are given; a usage error where a number is beyond
// those that are.
void number_classes(int64_t largest, const std::string& where, std::vector<std::string>& classes);

// Pictures that are files.
class ListedImages : public ImageFiles::Source {
 public:
  void add(std::string path, int32_t label) {
    paths_.push_back(std::move(path));
    labels_.push_back(label);
  }
  bool next(StoredImage& image) override {
    if (next_ == paths_.size()) return false;
    image = {paths_[next_], paths_[next_], {}, labels_[next_]};
    ++next_;
    return true;
  }
  int64_t count() const override { return std::ssize(paths_); }

 private:
  std::vector<std::string> paths_;
  std::vector<int32_t> labels_;
  size_t next_ = 0;
};

}  // namespace skein::data
