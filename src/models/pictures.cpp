#include "skein/models/pictures.h"

#include <algorithm>

#include "skein/models/terms.h"
#include "skein/models/trunk.h"

namespace skein {
namespace {

void check_side(const char* key, int64_t value, int64_t least) {
  require(value >= least && value <= kMostPictureSide, "model.{}={} must lie in [{}, {}]", key,
          value, least, kMostPictureSide);
}

void check_patches(const PictureOptions& own) {
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

}  // namespace

void bind_pictures(Options& options, ModelConfig& config) {
  PictureOptions& c = picture_options(config);
  options.add("model.image_height", c.image_height, "of all pictures; 0: the data's", "pixels");
  options.add("model.image_width", c.image_width, "of all pictures; 0: the data's", "pixels");
  options.add("model.channels", c.channels,
              "of pictures, 1 for grey, 3 for colours; 0: the data's");
  options.add("model.patch_height", c.patch_height, "of the patches that are a picture's tokens",
              "pixels");
  options.add("model.patch_width", c.patch_width, "of those patches; 0: as high", "pixels");
}

PatchEmbeddingSpec patch_spec(const ModelConfig& c) {
  const PictureOptions& own = picture_options(c);
  PatchEmbeddingSpec made{.rows = own.rows(),
                          .columns = own.columns(),
                          .numbers = own.channels * own.patch_height * own.width_of_patch(),
                          .width = c.d_model,
                          .class_token = false,
                          .positions = c.positions,
                          .deviation = c.init_std,
                          .dropout = c.dropout};
  if (c.embedding_norm) made.norm = norm_spec(c, "", false);
  return made;
}

data::PictureForm PictureArchitecture::picture_form(const ModelConfig& c) const {
  const PictureOptions& own = picture_options(c);
  return {.channels = own.channels,
          .height = own.image_height,
          .width = own.image_width,
          .patch_height = own.patch_height,
          .patch_width = own.width_of_patch(),
          .class_token = class_token(c)};
}

void PictureArchitecture::take_pictures(ModelConfig& config, const data::PictureForm& sizes) const {
  PictureOptions& own = picture_options(config);
  const auto take = [](const char* key, int64_t& mine, int64_t theirs) {
    require(mine == 0 || mine == theirs, "model.{}={}, but the pictures have {}; leave it out", key,
            mine, theirs);
    mine = theirs;
  };
  take("channels", own.channels, sizes.channels);
  take("image_height", own.image_height, sizes.height);
  take("image_width", own.image_width, sizes.width);
  check_patches(own);
  const int64_t tokens = picture_form(config).tokens();
  require(config.context == ModelConfig{}.context || config.context == tokens,
          "model.context={}, but these pictures have {} tokens; leave it out", config.context,
          tokens);
  config.context = tokens;
}

void PictureArchitecture::check_head(const ModelConfig& c) const {
  require(c.head == Head::sequence,
          "model.architecture={} gives labels of pictures; give model.head=sequence", name());
}

bool PictureArchitecture::shares(const std::string& key) const {
  ModelConfig none;
  return bound_values([&](Options& own) { bind_pictures(own, none); }).contains(key);
}

void PictureArchitecture::check(const ModelConfig& c) const {
  check_patches(picture_options(c));
  const int64_t tokens = picture_form(c).tokens();
  require(c.context == tokens, "model.context={} is not the {} tokens of a picture; leave it out",
          c.context, tokens);
  check_head(c);
  require(c.vocab_size == 0 && c.token_types == 0 && c.position_offset == 0 &&
              !c.scale_embeddings && c.sinusoids == kernels::Sinusoid::halves,
          "model.vocab_size, token_types, position_offset, scale_embeddings and sinusoids are for "
          "models that read texts; leave them out with model.architecture={}",
          name());
}

Flow PictureModel::forward(const Flow& flow, const Pass& pass) const {
  const Pass whole = pass.whole();
  const Var x = (*stack_)(embedding_ ? (*embedding_)(whole) : flow.only(), whole);
  return final_norm_ ? (*final_norm_)(x) : x;
}

Var PictureModel::label_scores(const Var& hidden, const Pass& pass) const {
  const Pass whole = pass.whole();
  return (*classifier_)(residual_dropout(read(hidden), whole, config_.dropout, -1, 1), whole);
}

std::unique_ptr<Objective> PictureModel::objective() const {
  if (!classifier_) return nullptr;
  return std::make_unique<LabelTerm>(*this);
}

void PictureModel::add_head(const ModelConfig& last, int chunk, Parameters& parameters) {
  if (last.norm_placement == NormPlacement::pre) {
    parameters.enter("final_norm", chunk, {Part::final_norm});
    final_norm_.emplace(parameters, norm_spec(last, "final_norm", false));
  }
  parameters.enter("head", chunk, {Part::label_head});
  classifier_.emplace(parameters, head_layer(last, "classifier", last.labels, last.head_deviation(),
                                             RowKind::samples));
}

}  // namespace skein
