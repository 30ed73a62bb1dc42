#include <algorithm>
#include <filesystem>
#include <set>

#include "skein/core/error.h"
#include "skein/core/log.h"
#include "skein/core/strings.h"

#include "data/files/input_files.h"
#include "image_sources.h"

namespace skein::data {
namespace {

namespace fs = std::filesystem;

bool named_like_an_image(const fs::path& path) {
  std::string suffix = path.extension().native();
  std::ranges::transform(suffix, suffix.begin(), [](unsigned char c) { return std::tolower(c); });
  static const std::set<std::string> known{".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".pnm"};
  return known.contains(suffix);
}

// The pictures in a folder and below it, in the order of their paths.
std::vector<std::string> images_below(const std::string& folder, SkippedFiles& skipped) {
  std::vector<std::string> found;
  std::error_code error, ignored;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (hidden_file(at->path())) {
      at.disable_recursion_pending();
      skipped.add(at->path().native(), "hidden");
    } else if (at->is_regular_file(ignored) && named_like_an_image(at->path())) {
      found.push_back(at->path().native());
    } else if (at->is_symlink(ignored) && at->is_directory(ignored)) {
      skipped.add(at->path().native(), "a link to a folder");
    } else if (!at->is_directory(ignored)) {
      skipped.add(at->path().native(), "not .png, .jpg, .jpeg, .ppm, .pgm or .pnm");
    }
  }
  if (error) fail("cannot read the folder {}: {}", folder, error.message());
  std::ranges::sort(found);
  return found;
}

std::vector<std::string> folders_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error, ignored;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(ignored) && !hidden_file(at->path()))
      names.push_back(at->path().filename().native());
  if (error) fail("cannot read the folder {}: {}", folder, error.message());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> classes_in(const std::vector<std::string>& inputs) {
  std::set<std::string> names;
  for (const std::string& input : inputs) {
    const std::vector<std::string> here = folders_in(input);
    require(!here.empty(),
            "{} has no folders: each class is a folder of pictures there; for pictures without "
            "labels give images.labelled=false",
            input);
    names.insert(here.begin(), here.end());
  }
  return {names.begin(), names.end()};
}

void add_class(const std::string& folder, int32_t label, ListedImages& images,
               SkippedFiles& skipped) {
  const std::vector<std::string> paths = images_below(folder, skipped);
  require(!paths.empty(), "{} holds no pictures (.png, .jpg, .jpeg, .ppm, .pgm, .pnm)", folder);
  for (const std::string& path : paths) images.add(path, label);
}

// Beside the folders of classes.
void skip_files(const std::string& input, SkippedFiles& skipped) {
  std::error_code error, ignored;
  for (fs::directory_iterator at(input, error), end; !error && at != end; at.increment(error)) {
    const bool folder = at->is_directory(ignored);
    require(folder || !named_like_an_image(at->path()),
            "{} lies beside the folders of the classes, so it has none; move it into one of them",
            at->path().native());
    if (!folder || hidden_file(at->path()))
      skipped.add(at->path().native(), hidden_file(at->path()) ? "hidden" : "of no class");
  }
}

void add_labelled(const std::string& input, const std::vector<std::string>& classes,
                  ListedImages& images, SkippedFiles& skipped) {
  skip_files(input, skipped);
  for (const std::string& name : folders_in(input)) {
    const auto found = std::ranges::find(classes, name);
    require(found != classes.end(), "{}/{} is a class that images.classes does not name{}", input,
            name, did_you_mean(name, classes));
    add_class(input + "/" + name, static_cast<int32_t>(found - classes.begin()), images, skipped);
  }
}

}  // namespace

std::unique_ptr<ImageFiles::Source> folder_images(const ImageFilesConfig& config,
                                                  std::vector<std::string>& classes) {
  for (const std::string& input : config.inputs)
    require(fs::is_directory(input), "{} is no folder of pictures", input);
  auto images = std::make_unique<ListedImages>();
  SkippedFiles skipped;
  if (config.labelled && classes.empty()) classes = classes_in(config.inputs);
  for (const std::string& input : config.inputs)
    if (config.labelled)
      add_labelled(input, classes, *images, skipped);
    else
      add_class(input, -1, *images, skipped);
  if (const std::string line = skipped.line(); !line.empty()) log::info("{}", line);
  return images;
}

}  // namespace skein::data
