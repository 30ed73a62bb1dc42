#include "picture_config.h"

#include <cmath>
#include <map>

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
  read_units(ForeignConfig(preprocessor, "the preprocessor_config.json beside " + config.origin()),
             model.architecture->picture_form(model).channels, head);
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

}  // namespace

std::string preprocessor_config(const ModelConfig& model, const train::LabelHead& head,
                                const std::string& before, const std::string& config) {
  const data::PictureForm form = model.architecture->picture_form(model);
  const ForeignJson units{{"do_normalize", true},
                          {"do_rescale", true},
                          {"do_resize", true},
                          {"image_mean", head.picture_mean},
                          {"image_processor_type", "ViTImageProcessor"},
                          {"image_std", head.picture_deviation},
                          {"resample", 2},
                          {"rescale_factor", kOf255},
                          {"size", {{"height", form.height}, {"width", form.width}}}};
  if (before.empty()) return units.dump(2) + "\n";
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
  for (const char* key : {"size", "crop_size"}) {
    if (!had.contains(key) || !is_resized(form, config)) continue;
    had[key] = units["size"];
    changed = true;
  }
  return changed ? had.dump(2) + "\n" : before;
}

}  // namespace skein::convert
