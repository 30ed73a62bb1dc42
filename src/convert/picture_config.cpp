#include "picture_config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "skein/convert/huggingface_config.h"
#include "skein/core/log.h"
#include "skein/core/strict_json.h"
#include "skein/models/architecture.h"

namespace skein::convert {
namespace {

constexpr double kOf255 = 1.0 / 255;

void check_units(const ForeignConfig& config, const char* key, const std::vector<double>& values,
                 int64_t channels, double above) {
  if (std::ssize(values) != channels)
    config.refuse(key, fmt::format("and the model reads {} channels", channels));
  for (const double value : values)
    if (!std::isfinite(value) || value <= above)
      config.refuse(key, "and a number that can be none of these stands there");
}

void read_units(const ForeignConfig& config, int64_t channels, train::LabelHead& head) {
  config.must_be("do_rescale", true, "and pixels are read as value / 255 here");
  if (const double factor = config.real("rescale_factor", kOf255);
      !(std::abs(factor - kOf255) < 1e-9))
    config.refuse("rescale_factor", "and pixels are read as value / 255 here");
  const bool normalized = config.truth("do_normalize", true);
  head.picture_mean = normalized ? config.reals("image_mean") : std::vector(channels, 0.0);
  head.picture_deviation = normalized ? config.reals("image_std") : std::vector(channels, 1.0);
  check_units(config, "image_mean", head.picture_mean, channels, -HUGE_VAL);
  check_units(config, "image_std", head.picture_deviation, channels, 0);
}

// As config.json has them; empty where it does not name all.
std::vector<std::string> named_labels(const ForeignConfig& config, int64_t labels) {
  std::vector<std::string> made;
  if (!config.has("id2label") || !config.at("id2label").is_object()) return {};
  for (int64_t i = 0; i < labels; ++i) {
    const auto found = config.at("id2label").find(std::to_string(i));
    if (found == config.at("id2label").end() || !found->is_string()) return {};
    made.push_back(found->get<std::string>());
  }
  return made;
}

}  // namespace

std::vector<std::string> picture_labels(const ForeignConfig& config, int64_t labels) {
  std::vector<std::string> made = named_labels(config, labels);
  const bool named = !made.empty();
  made.resize(labels);
  std::map<std::string, int64_t> times;
  for (const std::string& name : made) ++times[name];
  for (int64_t i = 0; i < labels; ++i) {
    if (!named) {
      made[i] = fmt::format("LABEL_{}", i);
    } else if (times[made[i]] > 1) {
      while (times.contains(made[i])) made[i] += fmt::format(" ({})", i);
      ++times[made[i]];
    }
  }
  return made;
}

namespace {

// As Pillow counts them.
const std::map<int64_t, data::Resampling>& filters() {
  static const std::map<int64_t, data::Resampling> all{
      {2, data::Resampling::bilinear}, {3, data::Resampling::bicubic}, {4, data::Resampling::area}};
  return all;
}

struct WantedSides {
  int64_t height = 0, width = 0;
  bool shorter = false;  // the shorter one alone, with the other by the picture's form
};

// Of "size" or "crop_size", if they are said in a way that is known here.
std::optional<WantedSides> sides_in(const ForeignConfig& config, const std::string& key) {
  if (!config.has(key)) return {};
  if (!config.at(key).is_object()) {
    const std::string type =
        config.text("image_processor_type", config.text("feature_extractor_type", ""));
    const int64_t side = config.integer(key);
    return WantedSides{side, side,
                       key == "size" && (type.starts_with("CLIP") || type.starts_with("Bit"))};
  }
  const ForeignConfig sides = config.object(key);
  if (sides.has("height") && sides.has("width"))
    return WantedSides{sides.integer("height"), sides.integer("width")};
  if (!sides.has("shortest_edge") || sides.has("longest_edge")) return {};
  return WantedSides{sides.integer("shortest_edge"), sides.integer("shortest_edge"), true};
}

// Of `size` the middle of `crop` is cut out, each as much larger or smaller as makes that the
// form's.
std::optional<data::Fitting> middle_in(const WantedSides& size, const WantedSides& crop,
                                       const data::PictureForm& form, data::Fitting how) {
  const bool square = crop.height == crop.width;
  if (crop.shorter || crop.height < 1 || crop.width < 1 || size.height < crop.height ||
      size.width < crop.width || (size.shorter && !square))
    return {};
  if (size.height == crop.height && size.width == crop.width) return how;
  how.height = size.height;
  how.width = size.width;
  how = scaled(how, {crop.height, crop.width}, {form.height, form.width});
  if (how.width > data::kMostFittedPixels / how.height) return {};
  return how;
}

// How files of pictures come to the form; nothing where that is no way of ours.
std::optional<data::Fitting> fitting_in(const ForeignConfig& config,
                                        const data::PictureForm& form) {
  const bool crops = config.truth("do_center_crop", false);
  if (!config.truth("do_resize", true))
    return crops ? std::nullopt : std::optional(data::Fitting{data::Fit::none});
  const auto filter = filters().find(config.integer("resample", 2));
  if (filter == filters().end() || config.has("crop_pct")) return {};
  const auto size =
      config.has("size") ? sides_in(config, "size") : WantedSides{form.height, form.width};
  if (!size) return {};
  const data::Fitting how{size->shorter ? data::Fit::cut : data::Fit::stretch, filter->second};
  if (!crops) return size->shorter ? std::nullopt : std::optional(how);
  const auto crop = sides_in(config, "crop_size");
  return crop ? middle_in(*size, *crop, form, how) : std::nullopt;
}

void read_fitting(const ForeignConfig& config, const data::PictureForm& form,
                  train::LabelHead& head) {
  const auto found = fitting_in(config, form);
  if (!found) {
    log::warn(
        "{} brings pictures to their size in a way that is not known here: skein predict and skein "
        "embed resize the middle of them (images.fit=cut, images.resampling=bilinear); give what "
        "comes nearer",
        config.origin());
    return;
  }
  head.fitting = *found;
  log::info(
      "files of pictures come to {} x {} pixels as {} says, by {}; make stores for the model so, "
      "too",
      form.height, form.width, config.origin(), told(head.fitting));
}

}  // namespace

train::TaskNotes picture_notes(const ForeignConfig& config, const ModelConfig& model,
                               const std::string& preprocessor) {
  if (preprocessor.empty()) {
    log::warn(
        "there is no preprocessor_config.json beside {}, which says in which units pixels are "
        "read: the model can be fine-tuned, but not judged before that",
        config.origin());
    return {};
  }
  train::LabelHead head;
  head.metric = metric_of(head.kind, train::LabelMetric::automatic);
  head.length = model.context;
  head.labels = picture_labels(config, model.labels);
  const ForeignConfig said(preprocessor, "the preprocessor_config.json beside " + config.origin());
  const data::PictureForm form = model.architecture->picture_form(model);
  read_units(said, form.channels, head);
  read_fitting(said, form, head);
  return to_notes(head, 0);
}

namespace {

// Whether config.json is of a model of pictures of another size.
bool is_resized(const data::PictureForm& form, const std::string& config) {
  if (config.empty()) return false;
  const ModelConfig before = model_from_huggingface(config, "the config.json of the import", {});
  const data::PictureForm had = before.architecture->picture_form(before);
  return had.height != form.height || had.width != form.width;
}

// What brings pictures to the form as is done here; where transformers has no such way it stretches
// them.
ForeignJson keys_of(const data::Fitting& how, const data::PictureForm& form) {
  const auto sides = [](int64_t height, int64_t width) {
    return ForeignJson{{"height", height}, {"width", width}};
  };
  const bool cuts = how.fit == data::Fit::cut && form.height == form.width;
  if (!cuts && (how.fit == data::Fit::cut || how.fit == data::Fit::pad))
    log::warn(
        "transformers has no way to {} x {} pixels by {}: preprocessor_config.json says that "
        "pictures are stretched",
        form.height, form.width, told(how));
  const auto filter = std::ranges::find(filters(), how.resampling,
                                        &std::pair<const int64_t, data::Resampling>::second);
  const bool middle = how.height > 0;
  ForeignJson made{
      {"do_resize", how.fit != data::Fit::none},
      {"image_processor_type", cuts     ? "CLIPImageProcessor"
                               : middle ? "DeiTImageProcessor"
                                        : "ViTImageProcessor"},
      {"resample", filter->first},
      {"size", middle ? sides(how.height, how.width) : sides(form.height, form.width)}};
  if (!cuts && !middle) return made;
  if (cuts) made["size"] = {{"shortest_edge", middle ? how.height : form.height}};
  if (cuts) made["do_convert_rgb"] = false;
  made["do_center_crop"] = true;
  made["crop_size"] = sides(form.height, form.width);
  return made;
}

// Whether preprocessor_config.json says something else of that.
bool fits_otherwise(const std::string& before, const train::LabelHead& head,
                    const data::PictureForm& form) {
  const ForeignConfig config(before, "the preprocessor_config.json of the import");
  return fitting_in(config, form).value_or(head.fitting) != head.fitting;
}

}  // namespace

std::string preprocessor_config(const ModelConfig& model, const train::LabelHead& head,
                                const std::string& before, const std::string& config) {
  const data::PictureForm form = model.architecture->picture_form(model);
  ForeignJson units{{"do_normalize", true},
                    {"do_rescale", true},
                    {"image_mean", head.picture_mean},
                    {"image_std", head.picture_deviation},
                    {"rescale_factor", kOf255}};
  if (before.empty()) {
    units.update(keys_of(head.fitting, form));
    return units.dump(2) + "\n";
  }
  auto had = parse_strictly<ForeignJson>(before, "the preprocessor_config.json of the import",
                                         kMostConfigDepth);
  require(had.is_object(), "the preprocessor_config.json of the import is no JSON object");
  bool changed = false;
  for (const char* key :
       {"do_normalize", "do_rescale", "rescale_factor", "image_mean", "image_std"}) {
    const bool usual = !had.contains(key) && std::string_view(key).substr(0, 6) != "image_";
    if (usual || had[key] == units[key]) continue;
    had[key] = units[key];
    changed = true;
  }
  if (is_resized(form, config) || fits_otherwise(before, head, form)) {
    if (had.contains("do_center_crop")) had["do_center_crop"] = false;
    had.erase("feature_extractor_type");
    had.update(keys_of(head.fitting, form));
    changed = true;
  }
  return changed ? had.dump(2) + "\n" : before;
}

}  // namespace skein::convert
