#include "skein/data/images/image_files.h"

#include <filesystem>
#include <set>

#include "skein/core/error.h"
#include "skein/core/files/files.h"
#include "skein/core/strings.h"
#include "skein/data/files/byte_source.h"
#include "skein/data/files/suffix.h"
#include "skein/data/records/labels.h"

#include "image_sources.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

bool begins_like_idx(const std::string& path) {
  char head[3] = {};
  const auto source = open_bytes(path);
  size_t got = 0;
  for (size_t more = 1; got < sizeof head && more > 0; got += more)
    more = source->read(head + got, sizeof head - got);
  return got == sizeof head && head[0] == 0 && head[1] == 0 && head[2] == 8;
}

ImageLayout image_layout(const ImageFilesConfig& config) {
  if (config.layout != ImageLayout::automatic) return config.layout;
  const std::string& first = config.inputs.front();
  require(fs::exists(first), "cannot read {}: there is no such file or folder", first);
  if (fs::is_directory(first)) return ImageLayout::folders;
  if (format_in_name(first) != NamedFormat::other) return ImageLayout::table;
  require(begins_like_idx(first),
          "{} is no folder, table (.csv, .tsv, .jsonl) or IDX file; files of CIFAR become a store "
          "by `skein-data images --images.format=cifar10` or cifar100",
          first);
  return ImageLayout::idx;
}

void check(const ImageFilesConfig& config) {
  require(!config.inputs.empty(),
          "no pictures were given; name a folder with a folder for each class, a table of paths "
          "and labels, or files of IDX or CIFAR");
  require(config.labelled || config.classes.empty(),
          "images.classes names {} classes, but images.labelled=false asks for no labels",
          config.classes.size());
  require(config.labelled || config.labels.empty(),
          "images.labels={} are not looked at with images.labelled=false; leave one of them out",
          listed(config.labels));
  std::set<std::string> seen;
  for (const std::string& name : config.classes) {
    require(!name.empty(), "images.classes holds an empty name");
    require(seen.insert(name).second, "images.classes names \"{}\" twice", name);
  }
}

void check_columns(const ImageFilesConfig& config, ImageLayout layout) {
  const ImageFilesConfig usual;
  const bool label = config.label_column != usual.label_column;
  require(config.labelled || !label,
          "images.label={} is not looked at with images.labelled=false; leave one of them out",
          config.label_column);
  require(layout == ImageLayout::table ||
              (!label && config.path_column == usual.path_column && config.header == usual.header),
          "images.path, images.label and images.header are for tables, and {} is none; leave them "
          "out",
          config.inputs.front());
}

std::unique_ptr<ImageFiles::Source> source_of(const ImageFilesConfig& config, ImageLayout layout,
                                              std::vector<std::string>& classes) {
  require(layout == ImageLayout::idx || config.labels.empty(),
          "images.labels={} are for IDX files; folders, tables and CIFAR say their labels "
          "themselves",
          listed(config.labels));
  switch (layout) {
    case ImageLayout::folders: return folder_images(config, classes);
    case ImageLayout::table: return table_images(config, classes);
    case ImageLayout::cifar10: return cifar_images(config, 1, classes);
    case ImageLayout::cifar100: return cifar_images(config, 2, classes);
    default: return idx_images(config, classes);
  }
}

}  // namespace

void bind(Options& options, ImageFilesConfig& c) {
  options.add_choice("images.format", c.layout,
                     {{"auto", ImageLayout::automatic},
                      {"folders", ImageLayout::folders},
                      {"table", ImageLayout::table},
                      {"idx", ImageLayout::idx},
                      {"cifar10", ImageLayout::cifar10},
                      {"cifar100", ImageLayout::cifar100}},
                     "folders: a folder for each class; table: paths and labels (.csv, .tsv, "
                     ".jsonl); idx: as MNIST's; auto: one of these three");
  options.add("images.labels", c.labels, "idx: the file of labels of each INPUT");
  bind_paths(options, c.path_column, c.header);
  options.add("images.label", c.label_column, "table: column of the labels");
  options.add("images.classes", c.classes,
              "names of the classes in the order of their ids; empty: those that there are, in "
              "byte order");
  options.add("images.labelled", c.labelled,
              "false: no labels, for pretraining; then folders need not be of classes");
}

void bind_paths(Options& options, std::string& path_column, Header& header) {
  options.add("images.path", path_column,
              "table: column of the paths, by name or number from 1; JSONL: its key");
  options.add_choice("images.header", header,
                     {{"auto", Header::automatic}, {"yes", Header::yes}, {"no", Header::no}},
                     "table: whether the first row names the columns; auto: when one is given by "
                     "name");
}

void number_classes(int64_t largest, const std::string& where, std::vector<std::string>& classes) {
  if (classes.empty())
    for (int64_t i = 0; i <= largest; ++i) classes.push_back(std::to_string(i));
  require(largest < std::ssize(classes),
          "{} has the label {}, but there are {} classes, 0 to {}; name them all with "
          "images.classes",
          where, largest, classes.size(), classes.size() - 1);
}

namespace {

// A usage error for names that cannot be stored.
void check_names(const std::vector<std::string>& classes) { const LabelSet storable(classes); }

}  // namespace

ImageFiles::ImageFiles(ImageFilesConfig config) : classes_(config.classes) {
  check(config);
  layout_ = image_layout(config);
  check_columns(config, layout_);
  source_ = source_of(config, layout_, classes_);
  if (!classes_.empty()) check_names(classes_);
}

ImageFiles::~ImageFiles() = default;

const std::vector<std::string>& ImageFiles::classes() const { return classes_; }
bool ImageFiles::next(StoredImage& image) { return source_->next(image); }
int64_t ImageFiles::count() const { return source_->count(); }

void check_background(const ImageFiles& files, bool given) {
  require(!given || files.layout() == ImageLayout::folders || files.layout() == ImageLayout::table,
          "images.background is for files with transparent pixels, which IDX and CIFAR have not; "
          "leave it out");
}

Image loaded(const StoredImage& image, const std::optional<Colour>& background) {
  if (image.path.empty()) return image.image;
  FileReader file(image.path);
  std::vector<std::byte> bytes(file.size());
  file.read(bytes.data(), file.size());
  return decode_image(bytes, image.name, background);
}

}  // namespace skein::data
