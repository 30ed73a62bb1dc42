#include "skein/core/error.h"
#include "skein/models/vit/vit.h"

namespace skein {
namespace {

constexpr int64_t kMostSide = 65536;

void check_side(const char* key, int64_t value, int64_t least) {
  require(value >= least && value <= kMostSide, "model.{}={} must lie in [{}, {}]", key, value,
          least, kMostSide);
}

void check_patches(const VitOptions& own) {
  check_side("image_height", own.image_height, 1);
  check_side("image_width", own.image_width, 1);
  check_side("patch_height", own.patch_height, 1);
  check_side("patch_width", own.patch_width, 0);
  require(own.channels == 1 || own.channels == 3,
          "model.channels={} must be 1 (grey) or 3 (colours)", own.channels);
  require(
      own.image_height % own.patch_height == 0 && own.image_width % own.width_of_patch() == 0,
      "pictures of {} x {} pixels (height, width) do not divide into patches of {} x {}; change "
      "model.patch_height and model.patch_width, or the size of the pictures (skein-data images "
      "--images.size)",
      own.image_height, own.image_width, own.patch_height, own.width_of_patch());
}

class VitArchitecture : public Architecture {
 public:
  std::string_view name() const override { return "vit"; }
  std::string_view help() const override { return "reads the patches of pictures"; }

  void bind(Options& options, ModelConfig& config) const override;
  void write_out(ModelConfig& config) const override {
    VitOptions& own = vit_options(config);
    own.patch_width = own.width_of_patch();
  }
  void check(const ModelConfig& config) const override;
  void check_unused(const ModelConfig& config) const override {
    require(vit_options(config) == VitOptions{},
            "model.image_height, image_width, channels, patch_height, patch_width, "
            "model.class_token and image_pool are for model.architecture=vit");
  }

  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool /*sequence_parallel*/, Parameters& parameters) const override {
    return std::make_unique<Vit>(config, piece, parameters);
  }
  RowsPerToken rows_per_token(const ModelConfig&) const override { return {.places = 0}; }

  bool reads_images() const override { return true; }
  data::PictureForm picture_form(const ModelConfig& c) const override {
    const VitOptions& own = vit_options(c);
    return {.channels = own.channels,
            .height = own.image_height,
            .width = own.image_width,
            .patch_height = own.patch_height,
            .patch_width = own.width_of_patch(),
            .class_token = own.class_token};
  }
  void take_pictures(ModelConfig& config, const data::PictureForm& sizes) const override;
  bool sees_ahead() const override { return true; }
  std::string_view otherwise(const ModelConfig&) const override {
    return "one that reads pictures";
  }
  std::vector<std::string> options_of_heads() const override { return {"model.image_pool"}; }
};

void VitArchitecture::bind(Options& options, ModelConfig& config) const {
  VitOptions& c = vit_options(config);
  options.add("model.image_height", c.image_height, "vit: of all pictures; 0: the data's",
              "pixels");
  options.add("model.image_width", c.image_width, "vit: of all pictures; 0: the data's", "pixels");
  options.add("model.channels", c.channels, "vit: 1 for grey, 3 for colours; 0: the data's");
  options.add("model.patch_height", c.patch_height, "vit: of the patches that are its tokens",
              "pixels");
  options.add("model.patch_width", c.patch_width, "vit: 0: as high", "pixels");
  options.add("model.class_token", c.class_token,
              "vit: a learnt token stands ahead of the patches");
  options.add_choice("model.image_pool", c.pool, {{"first", Pool::first}, {"mean", Pool::mean}},
                     "vit: what the classifier reads, the first token's last hidden state, or the "
                     "mean of all patches'");
}

void VitArchitecture::take_pictures(ModelConfig& config, const data::PictureForm& sizes) const {
  VitOptions& own = vit_options(config);
  const auto take = [](const char* key, int64_t& mine, int64_t theirs) {
    require(mine == 0 || mine == theirs, "model.{}={}, but the pictures have {}; leave it out", key,
            mine, theirs);
    mine = theirs;
  };
  take("channels", own.channels, sizes.channels);
  take("image_height", own.image_height, sizes.height);
  take("image_width", own.image_width, sizes.width);
  check_patches(own);
  require(config.context == ModelConfig{}.context || config.context == own.tokens(),
          "model.context={}, but these pictures have {} tokens; leave it out", config.context,
          own.tokens());
  config.context = own.tokens();
}

void VitArchitecture::check(const ModelConfig& c) const {
  const VitOptions& own = vit_options(c);
  check_patches(own);
  require(c.context == own.tokens(),
          "model.context={} is not the {} tokens of a picture; leave it out", c.context,
          own.tokens());
  require(c.head == Head::sequence,
          "model.architecture=vit gives labels of pictures; give model.head=sequence");
  require(own.class_token || own.pool == Pool::mean,
          "without model.class_token there is nothing but patches to read: give "
          "model.image_pool=mean");
  require(c.positions == Positions::learned || c.positions == Positions::sinusoidal,
          "model.positions of model.architecture=vit must be learned or sinusoidal");
  require(c.positions == Positions::learned || c.d_model % 4 == 0,
          "model.positions=sinusoidal of pictures needs model.d_model={} to divide by 4",
          c.d_model);
  require(c.vocab_size == 0 && c.token_types == 0 && c.position_offset == 0 &&
              !c.scale_embeddings && c.sinusoids == kernels::Sinusoid::halves,
          "model.vocab_size, token_types, position_offset, scale_embeddings and sinusoids are for "
          "models that read texts; leave them out with model.architecture=vit");
  require(c.window == 0, "model.window={} is not for model.architecture=vit; leave it out",
          c.window);
  require(c.mup_base_width == 0,
          "model.mup_base_width={} is for model.architecture=gpt; encoders are not scaled by muP "
          "here, leave it out",
          c.mup_base_width);
}

}  // namespace

const Architecture& vit_architecture() {
  static const VitArchitecture only;
  return only;
}

}  // namespace skein
