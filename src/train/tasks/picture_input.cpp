#include "skein/train/tasks/picture_input.h"

#include <algorithm>
#include <fstream>

#include "skein/checkpoint/agree.h"
#include "skein/core/error.h"
#include "skein/core/json.h"
#include "skein/core/options/options.h"
#include "skein/models/architecture.h"

namespace skein::train {
namespace {

using Json = nlohmann::ordered_json;

// The first bytes of a file; "" of what is none.
std::string head_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(64, '\0');
  file.read(head.data(), std::ssize(head));
  head.resize(file ? head.size() : file.gcount());
  return head;
}

}  // namespace

void bind(Options& options, PictureFitting& fitting) {
  data::bind_fitting(options, fitting.fit, fitting.resampling, fitting.background);
  data::bind_paths(options, fitting.path_column, fitting.header);
}

data::Fitting settled(const Options& options, const PictureFitting& fitting,
                      const data::Fitting& of_model) {
  data::Fitting made = of_model;
  if (options.given("images.fit")) made = {fitting.fit, of_model.resampling};
  if (options.given("images.resampling")) made.resampling = fitting.resampling;
  return made;
}

void refuse_fitting(const Options& options, Reads reads) {
  refuse_options_of<PictureFitting>(
      options,
      fmt::format("is for pictures, but the model reads {}; leave it out", name_of(reads)));
}

PictureInput::PictureInput(std::string path, const PictureFitting& fitting,
                           const data::Fitting& how, const data::PictureForm& form)
    : path_(std::move(path)), fitting_(fitting), how_(how), form_(form) {
  if (!fitting.background.empty())
    background_ = data::colour_of(fitting.background, "images.background");
}

size_t PictureInput::at_once() const {
  constexpr int64_t kBytes = int64_t{1} << 26, kMost = 256;
  const int64_t bytes = form_.channels * form_.height * form_.width;
  return std::clamp<int64_t>(kBytes / std::max<int64_t>(1, bytes), 1, kMost);
}

NamedPicture PictureInput::fitted(const data::StoredImage& stored) const {
  const data::Image image = with_channels(loaded(stored, background_), form_.channels);
  return {stored.name, "", with_origin(stored.name, [&] {
            return data::fitted(image, form_.height, form_.width, how_);
          })};
}

void PictureInput::open_store() {
  require(
      fitting_ == PictureFitting{},
      "images.fit, resampling, background, path and header are for files of pictures, and {} is a "
      "store; leave them out",
      path_);
  const auto store =
      std::make_shared<data::ImageRecords>(std::make_shared<const data::Records>(path_));
  check_size(*store, form_, "the model");
  read_ = [store, path = path_, number = int64_t{0}](NamedPicture& one) mutable {
    if (number == store->count()) return false;
    const int32_t label = store->label(number);
    one = {fmt::format("{}, image {}", path, number), label < 0 ? "" : store->classes()[label],
           store->image(number)};
    ++number;
    return true;
  };
}

void PictureInput::open() {
  if (data::is_record_store(path_)) return open_store();
  if (data::is_image(head_of(path_))) {
    const PictureFitting usual;
    require(fitting_.path_column == usual.path_column && fitting_.header == usual.header,
            "images.path and images.header are for tables, and {} is a picture; leave them out",
            path_);
    read_ = [this, done = false](NamedPicture& one) mutable {
      if (done) return false;
      one = fitted({.name = path_, .path = path_});
      return done = true;
    };
    return;
  }
  const auto files =
      std::make_shared<data::ImageFiles>(data::ImageFilesConfig{.inputs = {path_},
                                                                .path_column = fitting_.path_column,
                                                                .header = fitting_.header,
                                                                .labelled = false});
  check_background(*files, background_.has_value());
  read_ = [this, files](NamedPicture& one) {
    data::StoredImage stored;
    if (!files->next(stored)) return false;
    one = fitted(stored);
    return true;
  };
}

std::vector<NamedPicture> PictureInput::next(size_t most, Group& world) {
  const std::string shared = checkpoint::from_root(world, [&] {
    if (!read_) open();
    Json all = Json::array();
    for (NamedPicture one; all.size() < most && read_(one);)
      all.push_back({one.name, one.truth, Json::binary(std::move(one.image.values))});
    const auto bytes = Json::to_cbor(all);
    return std::string(bytes.begin(), bytes.end());
  });
  std::vector<NamedPicture> made;
  for (Json& one : Json::from_cbor(shared))
    made.push_back({one[0],
                    one[1],
                    {form_.channels, form_.height, form_.width, std::move(one[2].get_binary())}});
  return made;
}

data::Batch PictureSamples::empty_batch(int64_t count) const {
  data::Batch made = data::picture_batch(count, form_);
  made.targets = data::filled(count, 1, 0);
  made.weights = Tensor::zeros({count, 1}, DType::f32);
  made.sample_ids = Tensor::zeros({count}, DType::i64);
  return made;
}

void PictureSamples::fill(const data::Batch& batch, int64_t row, int64_t index) const {
  fill_patches(pictures_[index].image, form_,
               batch.features.data<float>() + row * form_.patches() * form_.patch_numbers());
}

}  // namespace skein::train
