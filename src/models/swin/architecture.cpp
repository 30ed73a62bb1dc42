#include <algorithm>

#include "skein/core/error.h"
#include "skein/models/swin/swin.h"

#include "models/limits.h"

namespace skein {
namespace {

constexpr int64_t kMostStages = 8, kMostSide = 64;

// A depth that none can have counts as one more than may be.
int64_t blocks_of(const SwinOptions& own) {
  int64_t sum = 0;
  for (const int64_t depth : own.depths) sum += std::clamp<int64_t>(depth, 0, kMostLayers + 1);
  return sum;
}

void check_stages(const ModelConfig& c) {
  const SwinOptions& own = swin_options(c);
  require(own.stages() > 0 && own.stages() <= kMostStages,
          "model.depths names {} stages; there may be 1 to {}", own.stages(), kMostStages);
  for (const int64_t depth : own.depths)
    require(depth > 0 && depth <= c.n_layers,
            "model.depths={} must be numbers above 0 whose sum is model.n_layers={}",
            fmt::join(own.depths, ","), c.n_layers);
  require(c.n_layers == blocks_of(own),
          "model.n_layers={} is not the {} blocks of model.depths={}; leave it out", c.n_layers,
          blocks_of(own), fmt::join(own.depths, ","));
  const int64_t times = int64_t{1} << (own.stages() - 1);
  require(c.d_model <= kMostWidth / times && c.hidden() <= kMostHidden / times,
          "model.d_model={} and model.d_ff={} double with each of the {} stages; {} and {} are the "
          "most of the last one",
          c.d_model, c.hidden(), own.stages(), kMostWidth, kMostHidden);
  require(
      std::max(c.n_heads, c.kv_heads()) * c.head_width() <= kMostHeadWidths / times,
      "model.n_heads={} with a head width of {} double with each of the {} stages; {} numbers a "
      "token are the most of the last one",
      c.n_heads, c.head_width(), own.stages(), kMostHeadWidths);
}

class SwinArchitecture : public PictureArchitecture {
 public:
  std::string_view name() const override { return "swin"; }
  std::string_view help() const override {
    return "reads the patches of pictures by windows, which grow";
  }

  void bind(Options& options, ModelConfig& config) const override;
  void check(const ModelConfig& config) const override;
  void take_pictures(ModelConfig& config, const data::PictureForm& sizes) const override;
  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool /*sequence_parallel*/, Parameters& parameters) const override {
    return std::make_unique<Swin>(config, piece, parameters);
  }
  bool biases_by_distance() const override { return true; }
  int64_t features(const ModelConfig& config) const override {
    return swin_stage(config, config.n_layers - 1).width;
  }
};

void SwinArchitecture::bind(Options& options, ModelConfig& config) const {
  SwinOptions& c = swin_options(config);
  options.add("model.depths", c.depths,
              "swin: blocks of each stage; the next stage has twice the width and heads, and a "
              "fourth of the tokens");
  options.add("model.window_side", c.window_side, "swin: of the windows within which tokens see",
              "tokens");
}

void SwinArchitecture::take_pictures(ModelConfig& config, const data::PictureForm& sizes) const {
  PictureArchitecture::take_pictures(config, sizes);
  const int64_t blocks = blocks_of(swin_options(config));
  if (config.n_layers == ModelConfig{}.n_layers) config.n_layers = blocks;
}

void SwinArchitecture::check(const ModelConfig& c) const {
  PictureArchitecture::check(c);
  check_stages(c);
  const SwinOptions& own = swin_options(c);
  require(own.window_side > 0 && own.window_side <= kMostSide,
          "model.window_side={} must lie in [1, {}]", own.window_side, kMostSide);
  require(c.positions == Positions::distance,
          "model.architecture=swin tells tokens apart by their offset in a window: give "
          "model.positions=distance");
  require(
      c.norm_placement == NormPlacement::pre,
      "model.architecture=swin has norms before its half blocks; give model.norm_placement=pre");
}

}  // namespace

const Architecture& swin_architecture() {
  static const SwinArchitecture only;
  return only;
}

}  // namespace skein
