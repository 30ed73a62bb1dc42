#include "skein/models/swin/swin.h"

#include "skein/models/trunk.h"
#include "skein/ops/embedding.h"

namespace skein {
namespace {

// The config of a stage's layers.
ModelConfig config_of(const ModelConfig& c, const SwinStage& stage) {
  const int64_t times = int64_t{1} << stage.number;
  ModelConfig made = c;
  made.d_model = stage.width;
  made.n_heads = c.n_heads * times;
  made.n_kv_heads = c.kv_heads() * times;
  made.d_head = c.head_width();
  made.d_ff = c.hidden() * times;
  return made;
}

BlockSpec spec_of(const ModelConfig& c, int64_t block) {
  const SwinStage stage = swin_stage(c, block);
  BlockSpec made = block_spec(config_of(c, stage), false);
  made.rows = static_cast<double>(stage.rows * stage.columns) /
              static_cast<double>(picture_options(c).patches());
  std::get<AttentionSpec>(made.sublayers[0].branch).grid =
      fitting_windows(stage.rows, stage.columns, swin_options(c).window_side, stage.place % 2 == 1);
  if (stage.number == 0 || stage.place > 0) return made;
  const SwinStage before = swin_stage(c, block - 1);
  made.merging = PatchMergingSpec{.rows = before.rows,
                                  .columns = before.columns,
                                  .norm = norm_spec(config_of(c, before), "", false),
                                  .deviation = c.init_std};
  return made;
}

std::vector<BlockSpec> specs_of(const ModelConfig& c, const ModelPiece& piece) {
  std::vector<BlockSpec> made;
  for (int block = piece.first_block; block < piece.last_block; ++block)
    made.push_back(spec_of(c, block));
  give_skips(made, piece.first_block, c.n_layers, c.stochastic_depth);
  return made;
}

}  // namespace

SwinStage swin_stage(const ModelConfig& c, int64_t block) {
  const PictureOptions& picture = picture_options(c);
  SwinStage made{0, picture.rows(), picture.columns(), c.d_model, block};
  for (const int64_t depth : swin_options(c).depths) {
    if (made.place < depth) break;
    made = {made.number + 1, (made.rows + 1) / 2, (made.columns + 1) / 2, 2 * made.width,
            made.place - depth};
  }
  return made;
}

Swin::Swin(const ModelConfig& c, const ModelPiece& piece, Parameters& parameters)
    : PictureModel(c, parameters), first_block_(piece.first_block) {
  if (piece.embeds) embedding_.emplace(parameters, patch_spec(c), piece.chunk);
  stack_.emplace(parameters, piece.first_block, piece.chunk, specs_of(c, piece));
  if (piece.predicts)
    add_head(config_of(c, swin_stage(c, c.n_layers - 1)), piece.chunk, parameters);
}

// A piece that begins with a stage merges what enters it.
std::vector<FlowPart> Swin::flow_parts(const Pass& pass) const {
  const SwinStage before = swin_stage(config_, first_block_ - 1);
  return {{{pass.batch->size(), before.rows * before.columns, before.width}, dtype_}};
}

Var Swin::read(const Var& hidden) const { return ops::sample_means(hidden, Tensor()); }

}  // namespace skein
