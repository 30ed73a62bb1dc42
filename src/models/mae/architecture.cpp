#include <algorithm>
#include <limits>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/models/mae/mae.h"

#include "models/limits.h"

namespace skein {
namespace {

constexpr int64_t kMostPatches = std::numeric_limits<int32_t>::max();

class MaeArchitecture : public PictureArchitecture {
 public:
  std::string_view name() const override { return "mae"; }
  std::string_view help() const override {
    return "an encoder sees some patches of a picture, a decoder says the hidden ones";
  }

  void bind(Options& options, ModelConfig& config) const override;
  void write_out(ModelConfig& config) const override;
  void check(const ModelConfig& config) const override;
  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool /*sequence_parallel*/, Parameters& parameters) const override {
    return std::make_unique<Mae>(config, piece, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig& config) const override {
    const data::PictureForm form = picture_form(config);
    return {.places = static_cast<double>(form.hidden) / static_cast<double>(form.tokens())};
  }
  data::PictureForm picture_form(const ModelConfig& config) const override;
  void take_pictures(ModelConfig& config, const data::PictureForm& sizes) const override;
  std::string_view otherwise(const ModelConfig&) const override {
    return "one that says the hidden patches of pictures";
  }
  void begin_labels(ModelConfig& config, Head head, int64_t labels) const override;

 private:
  bool class_token(const ModelConfig&) const override { return true; }
  void check_head(const ModelConfig& config) const override;
};

void MaeArchitecture::bind(Options& options, ModelConfig& config) const {
  MaeOptions& c = mae_options(config);
  options.add("model.decoder_layers", c.decoder_layers,
              "mae: how many of model.n_layers are the decoder's, the last; 0: two fifths of them");
  options.add("model.decoder_heads", c.decoder_heads, "mae: of the decoder; 0: model.n_heads");
  options.add("model.decoder_width", c.decoder_width,
              "mae: of the decoder's residual stream; 0: heads half as wide as the encoder's, in "
              "whole fours");
  options.add("model.decoder_ff", c.decoder_ff,
              "mae: width of the decoder's feed-forward layers; 0: 4 model.decoder_width");
  options.add("model.mask_ratio", c.mask_ratio,
              "mae: part of a picture's patches that is hidden from the encoder");
  options.add("model.norm_pixels", c.norm_pixels,
              "mae: what the decoder says of a patch is its numbers less their mean, over their "
              "deviation");
}

void MaeArchitecture::write_out(ModelConfig& config) const {
  PictureArchitecture::write_out(config);
  MaeOptions& c = mae_options(config);
  if (c.decoder_layers == 0) c.decoder_layers = std::max<int64_t>(1, config.n_layers * 2 / 5);
  if (c.decoder_heads == 0) c.decoder_heads = config.n_heads;
  if (c.decoder_width == 0)
    c.decoder_width = c.decoder_heads * rounded_up((config.head_width() + 1) / 2, int64_t{4});
  if (c.decoder_ff == 0) c.decoder_ff = 4 * c.decoder_width;
}

data::PictureForm MaeArchitecture::picture_form(const ModelConfig& config) const {
  data::PictureForm made = PictureArchitecture::picture_form(config);
  const MaeOptions& own = mae_options(config);
  made.normed = own.norm_pixels;
  if (!(own.mask_ratio > 0 && own.mask_ratio < 1)) return made;
  const int64_t patches = made.patches();
  made.hidden = patches - static_cast<int64_t>(static_cast<double>(patches) * (1 - own.mask_ratio));
  return made;
}

void check_decoder(const ModelConfig& config) {
  const MaeOptions& given = mae_options(config);
  require(config.n_layers >= 2,
          "model.n_layers is {}; model.architecture=mae needs at least 2, one in the encoder and "
          "one in the decoder",
          config.n_layers);
  require(given.decoder_layers >= 0 && given.decoder_layers < config.n_layers,
          "model.decoder_layers={} must be below model.n_layers={}, which counts those of the "
          "encoder, too; 0 takes two fifths of them",
          given.decoder_layers, config.n_layers);
  check_range("model.decoder_heads", given.decoder_heads, 0, kMostWidth);
  check_range("model.decoder_width", given.decoder_width, 0, kMostWidth);
  check_range("model.decoder_ff", given.decoder_ff, 0, kMostHidden);
  const ModelConfig c = config.written_out();
  const MaeOptions& own = mae_options(c);
  check_range("model.decoder_width", own.decoder_width, 1, kMostWidth);
  require(own.decoder_width % own.decoder_heads == 0,
          "model.decoder_width={} does not divide by model.decoder_heads={}; change one of them",
          own.decoder_width, own.decoder_heads);
  require(own.decoder_width % 4 == 0 && c.d_model % 4 == 0,
          "positions of pictures need model.d_model={} and model.decoder_width={} to divide by 4",
          c.d_model, own.decoder_width);
}

void check_hiding(const ModelConfig& c) {
  const MaeOptions& own = mae_options(c);
  require(own.mask_ratio > 0 && own.mask_ratio < 1,
          "model.mask_ratio={} must be above 0 and below 1", own.mask_ratio);
  const data::PictureForm form = c.architecture->picture_form(c);
  require(form.patches() < kMostPatches,
          "pictures of {} patches have too many; {} is the most: give a larger model.patch_height",
          form.patches(), kMostPatches - 1);
  require(form.hidden > 0 && form.seen() > 0,
          "model.mask_ratio={} hides {} of the {} patches of a picture; at least one must be "
          "hidden and one seen",
          own.mask_ratio, form.hidden, form.patches());
  require(!own.norm_pixels || form.patch_numbers() > 1,
          "model.norm_pixels needs patches of more than {} number; give model.norm_pixels=false or "
          "a larger model.patch_height",
          form.patch_numbers());
}

void MaeArchitecture::take_pictures(ModelConfig& config, const data::PictureForm& sizes) const {
  PictureArchitecture::take_pictures(config, sizes);
  check_hiding(config);
}

void MaeArchitecture::check(const ModelConfig& c) const {
  PictureArchitecture::check(c);
  require(c.positions == Positions::sinusoidal,
          "model.architecture=mae knows patches by the waves of their places; give "
          "model.positions=sinusoidal");
  require(c.norm_placement == NormPlacement::pre,
          "model.architecture=mae has norms before its half blocks; give model.norm_placement=pre");
  check_decoder(c);
  check_hiding(c);
}

void MaeArchitecture::check_head(const ModelConfig& c) const {
  require(c.head == Head::vocabulary && c.labels == 0,
          "model.architecture=mae says patches and no labels; leave model.head and model.labels={} "
          "out, or fine-tune it (skein finetune)",
          c.labels);
}

const Architecture& classifier() {
  for (const Architecture* one : architectures())
    if (one->name() == "vit") return *one;
  SKEIN_CHECK(!"a ViT is known");
  return mae_architecture();
}

// The encoder stays, with a classifier of what it sees of all patches.
void MaeArchitecture::begin_labels(ModelConfig& config, Head head, int64_t labels) const {
  const ModelConfig before = config.written_out();
  config.n_layers -= mae_options(before).decoder_layers;
  config.context += picture_form(before).hidden;
  mae_options(config) = {};
  config.architecture = &classifier();
  config.architecture->begin_labels(config, head, labels);
}

}  // namespace

const Architecture& mae_architecture() {
  static const MaeArchitecture only;
  return only;
}

}  // namespace skein
