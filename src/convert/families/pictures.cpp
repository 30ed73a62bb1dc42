// What models of pictures have alike.
#include "skein/models/pictures.h"

#include "families.h"

namespace skein::convert {
namespace {

// Height and width: a number where they are equal, else both.
void side_keys(ForeignConfig& keys, const std::string& key, int64_t& height, int64_t& width,
               int64_t otherwise) {
  if (!keys.reads())
    return height == width ? keys.write(key, height) : keys.write(key, {height, width});
  const bool both = keys.has(key) && keys.at(key).is_array();
  const std::vector<int64_t> sides =
      both ? keys.integers(key) : std::vector<int64_t>(2, keys.integer(key, otherwise));
  if (sides.size() != 2) keys.refuse(key, "and a height and a width belong there");
  height = sides[0];
  width = sides[1];
  if (height == 0 || width == 0) keys.refuse(key, "and sides above 0 belong there");
}

}  // namespace

std::vector<Demand> picture_demands(const ModelConfig& c) {
  std::vector<Demand> all = layer_demands(c);
  all.insert(all.begin(), {c.head == Head::sequence, "model.head=sequence"});
  return all;
}

std::vector<Demand> layer_demands(const ModelConfig& c) {
  return {{c.norm == ops::Norm::layer && c.norm_placement == NormPlacement::pre,
           "layer norm before each half block"},
          plain_activation(c),
          {c.bias, "model.bias"},
          plain_heads(c)};
}

void add_patches(NameCollector& names) {
  const PictureOptions& own = picture_options(names.c);
  const int64_t width = names.c.d_model, height = own.patch_height, across = own.width_of_patch();
  const std::string theirs = names.map.prefix + "embeddings.patch_embeddings.projection",
                    ours = "embedding.patches";
  names.map.tensors.push_back(
      {.name = theirs + ".weight",
       .shape = {width, own.channels, height, across},
       .parts = {{ours + ".weight", {width, own.channels * height * across}}}});
  names.same(theirs + ".bias", ours + ".bias", {width});
}

void add_picture_block(NameCollector& names, const std::string& theirs, const std::string& ours,
                       int64_t width, int64_t hidden) {
  const auto linear = [&](const char* their_name, const char* our_name, int64_t outputs,
                          int64_t inputs) {
    names.linear(theirs + their_name, ours + our_name, outputs, inputs, true);
  };
  const auto norm = [&](const char* their_name, const char* our_name) {
    names.same(theirs + their_name + ".weight", ours + our_name + ".gain", {width});
    names.same(theirs + their_name + ".bias", ours + our_name + ".bias", {width});
  };
  const bool is_vit = names.map.prefix == "vit.";
  const std::string self = is_vit ? ".attention.attention" : ".attention.self";
  linear((self + ".query").c_str(), ".attention.q", width, width);
  linear((self + ".key").c_str(), ".attention.k", width, width);
  linear((self + ".value").c_str(), ".attention.v", width, width);
  linear(".attention.output.dense", ".attention.out", width, width);
  norm(".layernorm_before", ".norm_1");
  norm(".layernorm_after", ".norm_2");
  linear(".intermediate.dense", ".mlp.up", hidden, width);
  linear(".output.dense", ".mlp.down", width, hidden);
}

void picture_keys(ForeignConfig& keys, ModelConfig& c, int64_t patch) {
  PictureOptions& own = picture_options(c);
  own.patch_width = own.width_of_patch();
  side_keys(keys, "image_size", own.image_height, own.image_width, 224);
  side_keys(keys, "patch_size", own.patch_height, own.patch_width, patch);
  keys.size("num_channels", own.channels, 3);
  keys.must_be("qkv_bias", true, "and attention of pictures has biases here");
  keys.write("qkv_bias", true);
  keys.activation("hidden_act", c.activation, "gelu");
  keys.real("hidden_dropout_prob", c.dropout, 0);
  keys.write("attention_probs_dropout_prob", c.dropout_of_attention());
  // Other sizes are refused by their names later.
  const bool fits = own.patches() > 0 && own.image_height <= kMostPictureSide &&
                    own.image_width <= kMostPictureSide;
  if (keys.reads() && fits) c.context = own.patches();
}

}  // namespace skein::convert
