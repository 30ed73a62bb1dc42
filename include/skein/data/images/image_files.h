// Pictures as data sets come, with their labels, one after the other.
//
//   ImageFiles files({.inputs = {"flowers/train"}});
//   for (StoredImage one; files.next(one);) use(loaded(one), one.label);
//
// folders: each INPUT is a folder with a folder for each class, below which lie its pictures.
// table: CSV, TSV or JSONL with columns of paths, beside the table's own folder, and of labels.
// idx: files of MNIST's form, [count,height,width] of u8, with a file [count] of u8 for the labels.
// cifar10, cifar100: files of records, one or two labels (the second is taken) and 3 x 32 x 32 u8.
// gzip, xz, zstd, bzip2 and lz4 are read through, but for pictures themselves.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/images/image.h"
#include "skein/data/records/examples.h"

namespace skein::data {

enum class ImageLayout { automatic, folders, table, idx, cifar10, cifar100 };

struct ImageFilesConfig {
  std::vector<std::string> inputs{};
  ImageLayout layout = ImageLayout::automatic;  // folders, tables and IDX are known by themselves
  std::vector<std::string> labels{};            // idx: of each INPUT
  std::string path_column = "path", label_column = "label";  // table: by name, or number from 1
  Header header = Header::automatic;                         // table
  // Names of the classes in the order of their ids. Empty: those that there are, in byte order;
  // of idx and cifar the numbers 0, 1, ...
  std::vector<std::string> classes{};
  bool labelled = true;  // false: labels are not looked at, and folders need not be of classes
};
// Binds layout, labels, columns, header, classes and labelled under section "images".
void bind(Options& options, ImageFilesConfig& config);
// Of that, images.path and images.header alone.
void bind_paths(Options& options, std::string& path_column, Header& header);

// A picture that is not decoded yet, or the pixels themselves.
struct StoredImage {
  std::string name{};  // for messages: its path, or "train.idx, image 17"
  std::string path{};  // of the file to decode; "": `image` is the picture
  Image image{};
  int32_t label = -1;  // id of its class
};

class ImageFiles {
 public:
  // Lists what there is. Usage errors for inputs that are missing or of no such layout, folders
  // without classes, a class without pictures, labels outside of `classes`, and as many labels as
  // there are not images, each naming the file and both values; and for what is said of columns
  // that nobody reads.
  explicit ImageFiles(ImageFilesConfig config);
  ~ImageFiles();

  // Never automatic.
  ImageLayout layout() const { return layout_; }
  // By id; none where nothing is labelled.
  const std::vector<std::string>& classes() const;
  // The next picture; false at the end, and a usage error where a file is cut short.
  bool next(StoredImage& image);
  // In all; -1 where it is known at the end only.
  int64_t count() const;

  class Source;

 private:
  ImageLayout layout_;
  std::vector<std::string> classes_;
  std::unique_ptr<Source> source_;
};

// A usage error where a background was given and no file is decoded, but pixels themselves read.
void check_background(const ImageFiles& files, bool given);

// The picture. Usage errors as decode_image; Error(failure) for a file that cannot be read.
Image loaded(const StoredImage& image, const std::optional<Colour>& background);

}  // namespace skein::data
