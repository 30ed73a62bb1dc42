#include "skein/core/error.h"
#include "skein/models/vit/vit.h"

namespace skein {
namespace {

class VitArchitecture : public PictureArchitecture {
 public:
  std::string_view name() const override { return "vit"; }
  std::string_view help() const override { return "reads the patches of pictures"; }

  void bind(Options& options, ModelConfig& config) const override;
  void check(const ModelConfig& config) const override;
  std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                               bool /*sequence_parallel*/, Parameters& parameters) const override {
    return std::make_unique<Vit>(config, piece, parameters);
  }
  std::vector<std::string> options_of_heads() const override { return {"model.image_pool"}; }

 private:
  bool class_token(const ModelConfig& config) const override {
    return vit_options(config).class_token;
  }
};

void VitArchitecture::bind(Options& options, ModelConfig& config) const {
  bind_pictures(options, config);
  VitOptions& c = vit_options(config);
  options.add("model.class_token", c.class_token,
              "vit: a learnt token stands ahead of the patches");
  options.add_choice("model.image_pool", c.pool, {{"first", Pool::first}, {"mean", Pool::mean}},
                     "vit: what the classifier reads, the first token's last hidden state, or the "
                     "mean of all patches'");
}

void VitArchitecture::check(const ModelConfig& c) const {
  PictureArchitecture::check(c);
  const VitOptions& own = vit_options(c);
  require(own.class_token || own.pool == Pool::mean,
          "without model.class_token there is nothing but patches to read: give "
          "model.image_pool=mean");
  require(c.positions == Positions::learned || c.positions == Positions::sinusoidal,
          "model.positions of model.architecture=vit must be learned or sinusoidal");
  require(c.positions == Positions::learned || c.d_model % 4 == 0,
          "model.positions=sinusoidal of pictures needs model.d_model={} to divide by 4",
          c.d_model);
}

}  // namespace

const Architecture& vit_architecture() {
  static const VitArchitecture only;
  return only;
}

}  // namespace skein
