// Pictures that a command is given. Rank 0 reads them in parts and sends each part to all ranks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skein/comm/group.h"
#include "skein/core/options/options.h"
#include "skein/data/images/image_files.h"
#include "skein/data/images/image_samples.h"

namespace skein {
enum class Reads;
}

namespace skein::train {

// How files of pictures come to the size that a model reads, as options say it.
struct PictureFitting {
  data::Fit fit = data::Fit::cut;
  data::Resampling resampling = data::Resampling::bilinear;
  std::string background{};  // "": transparent pixels are an error
  // Of a table: which column has the paths, as ImageFilesConfig says it.
  std::string path_column = data::ImageFilesConfig().path_column;
  data::Header header = data::Header::automatic;

  bool operator==(const PictureFitting&) const = default;
};
// Binds images.fit, resampling, background, path and header.
void bind(Options& options, PictureFitting& fitting);
// What becomes of files: what options do not say is as the model has it.
data::Fitting settled(const Options& options, const PictureFitting& fitting,
                      const data::Fitting& of_model);
// A usage error where one of them was given, for a model that reads something else.
void refuse_fitting(const Options& options, Reads reads);

struct NamedPicture {
  std::string name;   // of its file, or "test.h5, image 17"
  std::string truth;  // its class, where the input says one
  data::Image image;  // as large as the model reads them
};

class PictureInput {
 public:
  // path: a store of pictures of the form's size; a picture's file; a folder, table or IDX file of
  // pictures (data/images/image_files.h), whose labels are not looked at, which come to that size
  // by `how`. Opens nothing yet. Usage errors: for a background that is no colour; later for a
  // store where something of the fitting was given.
  PictureInput(std::string path, const PictureFitting& fitting, const data::Fitting& how,
               const data::PictureForm& form);
  // Collective. The next pictures, at most so many; none at the end. Usage errors of rank 0 are
  // those of every rank.
  std::vector<NamedPicture> next(size_t most, Group& world);
  // How many to read at once: 64 MiB of them, at most 256.
  size_t at_once() const;

 private:
  void open();
  void open_store();
  NamedPicture fitted(const data::StoredImage& stored) const;

  std::string path_;
  PictureFitting fitting_;
  data::Fitting how_;
  std::optional<data::Colour> background_;
  data::PictureForm form_;
  // Gives the next one; false at the end.
  std::function<bool(NamedPicture&)> read_;
};

// Such pictures as samples, without labels.
class PictureSamples : public data::RowSource {
 public:
  // Both outlive this.
  PictureSamples(const std::vector<NamedPicture>& pictures, const data::PictureForm& form)
      : pictures_(pictures), form_(form) {}
  int64_t samples_per_epoch() const override { return std::ssize(pictures_); }

 private:
  data::Batch empty_batch(int64_t count) const override;
  void fill(const data::Batch& batch, int64_t row, int64_t index) const override;

  const std::vector<NamedPicture>& pictures_;
  const data::PictureForm& form_;
};

}  // namespace skein::train
