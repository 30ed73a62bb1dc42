#include "skein/models/swin/swin.h"

#include <algorithm>
#include <cmath>

#include "families.h"

namespace skein::convert {
namespace {

constexpr size_t kMostStages = 8;

// transformers' tables of offsets have the size of whole windows, which smaller grids do not fit.
bool fills_windows(const ModelConfig& c) {
  for (int64_t block = 0; block < c.n_layers; ++block) {
    const SwinStage stage = swin_stage(c, block);
    if (std::min(stage.rows, stage.columns) < swin_options(c).window_side) return false;
  }
  return true;
}

std::vector<Demand> swin_demands(const ModelConfig& c) {
  std::vector<Demand> all = picture_demands(c);
  const bool reads_pictures = c.architecture == &swin_architecture();
  all.push_back({c.embedding_norm, "model.embedding_norm"});
  all.push_back({c.norm_epsilon == kUsualEpsilon, "model.norm_epsilon=1e-5"});
  all.push_back({c.hidden() % c.d_model == 0, "model.d_ff that is a multiple of model.d_model"});
  all.push_back({!reads_pictures || fills_windows(c),
                 "model.window_side that no stage's grid is smaller than"});
  return all;
}

NameMap swin_names(const ModelConfig& c) {
  NameCollector names(c, "swin.");
  add_patches(names);
  names.layer_norm("swin.embeddings.norm", "embedding.norm");
  int64_t width = c.d_model;
  const auto norm = [&](const std::string& theirs, const std::string& ours, int64_t wide) {
    names.same(theirs + ".weight", ours + ".gain", {wide});
    names.same(theirs + ".bias", ours + ".bias", {wide});
  };
  for (int64_t block = 0; block < c.n_layers; ++block) {
    const SwinStage stage = swin_stage(c, block);
    const std::string ours = names.block(block),
                      layer = fmt::format("swin.encoder.layers.{}", stage.number),
                      theirs = fmt::format("{}.blocks.{}", layer, stage.place);
    width = stage.width;
    if (stage.number > 0 && stage.place == 0) {
      const std::string before = fmt::format("swin.encoder.layers.{}.downsample", stage.number - 1);
      norm(before + ".norm", ours + ".merging.norm", 2 * width);
      names.linear(before + ".reduction", ours + ".merging.reduction", width, 2 * width, false);
    }
    add_picture_block(names, theirs, ours, width, width * (c.hidden() / c.d_model));
    const int64_t heads = c.n_heads << stage.number, side = 2 * swin_options(c).window_side - 1;
    names.map.tensors.push_back(
        {.name = theirs + ".attention.self.relative_position_bias_table",
         .shape = {side * side, heads},
         .transposed = true,
         .parts = {{ours + ".attention.offsets.weight", {heads, side * side}}}});
  }
  norm("swin.layernorm", "final_norm", width);
  names.linear("classifier", "classifier", c.labels, width, true);
  names.map.buffers = {"swin.embeddings.mask_token"};
  for (int64_t stage = 0; stage < swin_options(c).stages(); ++stage)
    names.map.buffers.push_back(fmt::format(
        "swin.encoder.layers.{}.blocks.*.attention.self.relative_position_index", stage));
  return names.map;
}

void read_stages(const ForeignConfig& keys, ModelConfig& c) {
  SwinOptions& own = swin_options(c);
  const auto listed = [&](const char* key, std::vector<int64_t> otherwise) {
    return keys.has(key) ? keys.integers(key) : otherwise;
  };
  own.depths = listed("depths", {2, 2, 6, 2});
  const std::vector<int64_t> heads = listed("num_heads", {3, 6, 12, 24});
  c.n_layers = 0;
  for (const int64_t depth : own.depths) c.n_layers += depth;
  if (heads.size() != own.depths.size() || heads.empty())
    keys.refuse("num_heads", "and a number for each of the stages in \"depths\" belongs there");
  if (heads.size() > kMostStages)
    keys.refuse("depths", fmt::format("and {} stages are the most here", kMostStages));
  c.n_heads = heads.front();
  for (size_t i = 1; i < heads.size(); ++i)
    if (heads[i] != 2 * heads[i - 1])
      keys.refuse("num_heads", "and each stage has twice the heads of the one before it here");
  const double ratio = keys.real("mlp_ratio", 4.0);
  if (!(ratio >= 1 && ratio <= 1024) || ratio != std::floor(ratio))
    keys.refuse("mlp_ratio", "and a whole number from 1 to 1024 belongs there here");
  c.d_ff = static_cast<int64_t>(ratio) * c.d_model;
}

// Those that transformers cannot compute either.
void check_grids(const ForeignConfig& keys, const ModelConfig& c) {
  const SwinOptions& own = swin_options(c);
  int64_t rows = picture_options(c).rows(), columns = picture_options(c).columns();
  for (int64_t stage = 0; stage < own.stages(); ++stage) {
    if (std::min(rows, columns) < own.window_side)
      keys.refuse("window_size", fmt::format("and the grid of stage {} has {} x {} tokens only",
                                             stage, rows, columns));
    rows = (rows + 1) / 2;
    columns = (columns + 1) / 2;
  }
}

void write_stages(ForeignConfig& keys, const ModelConfig& c) {
  const SwinOptions& own = swin_options(c);
  std::vector<int64_t> heads;
  for (int64_t i = 0; i < own.stages(); ++i) heads.push_back(c.n_heads << i);
  keys.write("depths", own.depths);
  keys.write("num_heads", heads);
  keys.write("mlp_ratio", static_cast<double>(c.d_ff / c.d_model));
}

void swin_keys(ForeignConfig& keys, ModelConfig& c) {
  if (keys.reads()) {
    c.positions = Positions::distance;
    c.embedding_norm = true;
  }
  keys.size("embed_dim", c.d_model, 96);
  keys.reads() ? read_stages(keys, c) : write_stages(keys, c);
  keys.size("window_size", swin_options(c).window_side, 7);
  keys.real("layer_norm_eps", c.norm_epsilon, kUsualEpsilon);
  if (keys.reads() && c.norm_epsilon != kUsualEpsilon)
    keys.refuse("layer_norm_eps", "but norms of patches and between stages have 1e-5 in any case");
  keys.real("drop_path_rate", c.stochastic_depth, 0.1);
  keys.refuse_true("use_absolute_embeddings", "and Swin has biases by offset only here");
  keys.write("use_absolute_embeddings", false);
  picture_keys(keys, c, 4);
  if (keys.reads()) check_grids(keys, c);
}

}  // namespace

const ForeignFamily& swin_family() {
  static const ForeignFamily only{"swin",       "Swin",     {},       swin_architecture(),
                                  swin_demands, swin_names, swin_keys};
  return only;
}

}  // namespace skein::convert
