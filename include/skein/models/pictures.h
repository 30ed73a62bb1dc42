// What models of pictures have in common: the sizes of pictures and patches, and a head that tells
// classes.
#pragma once

#include <memory>
#include <optional>

#include "skein/models/architecture.h"
#include "skein/models/model.h"
#include "skein/nn/patch_embedding.h"

namespace skein {

constexpr int64_t kMostPictureSide = 65536;  // pixels

struct PictureOptions {
  int64_t image_height = 0, image_width = 0, channels = 0;  // 0: those of the data
  int64_t patch_height = 16, patch_width = 0;               // 0: as high

  bool operator==(const PictureOptions&) const = default;
  int64_t width_of_patch() const { return patch_width ? patch_width : patch_height; }
  int64_t rows() const { return image_height / patch_height; }
  int64_t columns() const { return image_width / width_of_patch(); }
  int64_t patches() const { return rows() * columns(); }
};

inline PictureOptions& picture_options(ModelConfig& config) {
  return config.own.get<PictureOptions>();
}
inline const PictureOptions& picture_options(const ModelConfig& config) {
  return config.own.get<PictureOptions>();
}

void bind_pictures(Options& options, ModelConfig& config);

// Grid and pixels of the config's pictures, without a class token, and what else it says.
PatchEmbeddingSpec patch_spec(const ModelConfig& config);

class PictureArchitecture : public Architecture {
 public:
  void write_out(ModelConfig& config) const override {
    PictureOptions& own = picture_options(config);
    own.patch_width = own.width_of_patch();
  }
  // Those of pictures.
  bool shares(const std::string& key) const override;
  // Of sizes, of options that are for texts only, and of its head.
  void check(const ModelConfig& config) const override;
  RowsPerToken rows_per_token(const ModelConfig&) const override { return {.places = 0}; }
  Reads reads() const override { return Reads::pictures; }
  data::PictureForm picture_form(const ModelConfig& config) const override;
  void take_pictures(ModelConfig& config, const data::PictureForm& sizes) const override;
  bool sees_ahead() const override { return true; }
  std::string_view otherwise(const ModelConfig&) const override {
    return "one that reads pictures";
  }

 private:
  // Whether a learnt token stands ahead of the patches.
  virtual bool class_token(const ModelConfig&) const { return false; }
  // Usage errors for a head that it has none of; as it is, for all but labels of pictures.
  virtual void check_head(const ModelConfig& config) const;
};

// Patches, blocks, a norm of the last hidden states, and a classifier of what the model reads of
// them. Who derives from it makes the embedding and the stack.
class PictureModel : public Model, public Scorer {
 public:
  // The last piece gives hidden states [B,T,C], normed where norms stand before each half block.
  Flow forward(const Flow& flow, const Pass& pass) const override;
  const Scorer* scorer() const override { return classifier_ ? this : nullptr; }
  std::unique_ptr<Objective> objective() const override;
  // [B,1,labels].
  Var label_scores(const Var& hidden, const Pass& pass) const override;

 protected:
  PictureModel(const ModelConfig& config, const Parameters& parameters)
      : config_(config), dtype_(parameters.dtype()) {}
  // "final_norm" and "classifier", for hidden states of a model with this config.
  void add_head(const ModelConfig& last, int chunk, Parameters& parameters);

  ModelConfig config_;
  DType dtype_;
  std::optional<PatchEmbedding> embedding_;
  std::optional<Stack> stack_;

 private:
  // Of the last hidden states [B,T,C] what stands for a picture, [B,1,C].
  virtual Var read(const Var& hidden) const = 0;

  std::optional<NormLayer> final_norm_;
  std::optional<Linear> classifier_;
};

}  // namespace skein
