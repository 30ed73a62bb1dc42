// Invariants of a piece.
//
// Buckets are entered in the order of forward: the embedding, the encoder's blocks, what begins the
// decoder (the encoder's norm, the product to the decoder's width, mask and places), the decoder's
// blocks, its norm and the pixels. What begins the decoder is part of its first block.
#include "skein/models/mae/mae.h"

#include <algorithm>

#include "skein/core/where.h"
#include "skein/models/trunk.h"
#include "skein/ops/embedding.h"
#include "skein/ops/loss.h"
#include "skein/ops/math.h"

namespace skein {
namespace {

ModelConfig decoder_of(const ModelConfig& c) {
  const MaeOptions& own = mae_options(c);
  ModelConfig made = c;
  made.d_model = own.decoder_width;
  made.n_heads = made.n_kv_heads = own.decoder_heads;
  made.d_head = own.decoder_width / own.decoder_heads;
  made.d_ff = own.decoder_ff;
  return made;
}

PatchEmbeddingSpec mae_embedding(const ModelConfig& c) {
  PatchEmbeddingSpec made = patch_spec(c);
  made.class_token = true;
  return made;
}

void check_shards(const ModelConfig& decoder, int shards) {
  require(decoder.n_heads % shards == 0 && decoder.d_ff % shards == 0,
          "model.decoder_heads={} and model.decoder_ff={} do not both divide by parallel.tensor={}",
          decoder.n_heads, decoder.d_ff, shards);
}

// The rows of a picture that the decoder works on, for each that the encoder does.
double decoder_rows(const data::PictureForm& form) {
  return static_cast<double>(form.tokens() + form.hidden) / static_cast<double>(form.tokens());
}

class PatchError : public Objective {
 public:
  explicit PatchError(const Mae& model) : model_(model) {}

  Losses losses(const Var& output, const LossPass& pass) const override {
    const WhereScope here = WhereScope::part("head");
    const data::Batch& batch = *pass.batch;
    require(batch.values.defined(), "this model says hidden patches, and none are hidden from it");
    const int64_t rows = batch.weights.size(), numbers = batch.values.dim(2);
    const Var said = ops::reshape(model_.patches(output, pass), {rows, numbers});
    return {ops::squared_error(said, batch.values.reshape({rows, numbers})),
            row_weights_of(batch.weights, pass.loss_scale, output.value()),
            {batch.weights}};
  }
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override {
    return {model_.patches(output, pass).value().to(Device{}).to(DType::f32)};
  }

 private:
  const Mae& model_;
};

}  // namespace

Mae::Mae(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters)
    : config_(config.written_out()),
      decoder_config_(decoder_of(config_)),
      dtype_(parameters.dtype()),
      first_(piece.first_block),
      decoder_(static_cast<int>(config_.n_layers - mae_options(config_).decoder_layers)) {
  check_shards(decoder_config_, parameters.shards());
  const int last = piece.last_block, first_decoder = std::max(first_, decoder_);
  if (piece.embeds) embedding_.emplace(parameters, mae_embedding(config_), piece.chunk);
  if (first_ < decoder_)
    encoder_blocks_.emplace(parameters, first_, piece.chunk,
                            block_specs(config_, {first_, std::min(last, decoder_)}, false));
  if (last > decoder_) {
    if (first_ <= decoder_) begin_decoder(piece.chunk, parameters);
    std::vector<BlockSpec> blocks = block_specs(decoder_config_, {first_decoder, last}, false);
    const double rows = decoder_rows(config_.architecture->picture_form(config_));
    for (BlockSpec& block : blocks) block.rows = rows;
    decoder_blocks_.emplace(parameters, first_decoder, piece.chunk, blocks);
  }
  if (piece.predicts) add_head(piece.chunk, parameters);
}

void Mae::begin_decoder(int chunk, Parameters& parameters) {
  const Part part{Part::block, decoder_};
  parameters.enter("encoder_norm", chunk, part);
  encoder_norm_.emplace(parameters, norm_spec(config_, "final_norm", false));
  parameters.enter("decoder.embedding", chunk, part);
  decoder_embedding_.emplace(parameters, LinearSpec{.name = "decoder.embedding",
                                                    .inputs = config_.d_model,
                                                    .outputs = decoder_config_.d_model,
                                                    .deviation = config_.init_std});
  mask_ = parameters.add({.name = "decoder.mask",
                          .shape = {1, decoder_config_.d_model},
                          .start = {Start::normal, config_.init_std},
                          .meets = RowKind::looked_up});
  parameters.enter("decoder.positions", chunk, part);
  PatchEmbeddingSpec places = mae_embedding(config_);
  places.width = decoder_config_.d_model;
  positions_ = &parameters.add(
      {.name = "decoder.positions.weight",
       .shape = {places.tokens(), places.width},
       .start = {Start::given, 0,
                 [places] { return grid_waves(places.rows, places.columns, places.width, true); }},
       .meets = RowKind::looked_up,
       .constant = true});
}

void Mae::add_head(int chunk, Parameters& parameters) {
  parameters.enter("decoder.norm", chunk, {Part::final_norm});
  decoder_norm_.emplace(parameters, norm_spec(decoder_config_, "decoder.norm", false));
  parameters.enter("head", chunk, {Part::label_head});
  pixels_.emplace(parameters,
                  head_layer(decoder_config_, "decoder.pixels", patch_spec(config_).numbers,
                             config_.head_deviation(), RowKind::places));
}

Var Mae::begun(const Var& encoded, const Pass& pass) const {
  const WhereScope here = WhereScope::part("embedding");
  const data::Batch& batch = *pass.batch;
  const Weight places = positions_->weight();
  const Var seen = (*decoder_embedding_)((*encoder_norm_)(encoded), pass),
            placed = ops::add(seen, ops::embedding(batch.positions, places, 0));
  const Tensor first = Tensor::zeros(batch.targets.shape(), DType::i32, encoded.value().device());
  const Var masks =
      ops::add(ops::embedding(first, mask_, 0), ops::embedding(batch.targets, places, 0));
  return ops::append(placed, masks);
}

Flow Mae::forward(const Flow& flow, const Pass& pass) const {
  const Pass whole = pass.whole();
  Var x = embedding_ ? (*embedding_)(whole) : flow.only();
  if (encoder_blocks_) x = (*encoder_blocks_)(x, whole);
  if (encoder_norm_) x = begun(x, whole);
  if (decoder_blocks_) x = (*decoder_blocks_)(x, whole);
  if (!pixels_) return x;
  const int64_t hidden = pass.batch->targets.dim(1);
  return (*decoder_norm_)(ops::positions(x, x.shape()[1] - hidden, hidden));
}

std::vector<FlowPart> Mae::flow_parts(const Pass& pass) const {
  const data::Batch& batch = *pass.batch;
  const int64_t samples = batch.size(), seen = batch.length();
  if (first_ <= decoder_) return {{{samples, seen, config_.d_model}, dtype_}};
  return {{{samples, seen + batch.targets.dim(1), decoder_config_.d_model}, dtype_}};
}

Var Mae::patches(const Var& output, const Pass& pass) const {
  return (*pixels_)(output, pass.whole());
}

std::unique_ptr<Objective> Mae::objective() const {
  return pixels_ ? std::make_unique<PatchError>(*this) : nullptr;
}

}  // namespace skein
