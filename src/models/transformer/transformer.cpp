// Invariants of a piece.
//
// Buckets are entered in the order of forward: the source's embedding and its bias, the encoder's
// blocks, then what begins the decoder (the encoder's last norm, the target's embedding and its
// bias), the decoder's blocks, the head. What begins the decoder is part of its first block, so
// that it is frozen with it.
//
// Bits: the gradients of memory and bias are folds over the blocks that read them, from the last
// one back. A piece hands both on, and so begins its own fold with that of the pieces behind it.
//
// Memory: a pipeline drops what it has sent, so what was made here and is read here is sent as a
// Var of its own.
#include "skein/models/transformer/transformer.h"

#include <algorithm>
#include <cmath>

#include "skein/core/where.h"
#include "skein/models/terms.h"
#include "skein/ops/recompute.h"

#include "specs.h"

namespace skein {
namespace {

// Dropout sites outside of the blocks; 0 is the source's embedding.
constexpr int kTargetSite = 2, kMemorySite = 3, kFeaturesSite = 4;

Var sent_apart(const Var& x) {
  if (!x.defined()) return x;
  return x.needs_gradient() ? ops::one_use(x) : Var(x.value());
}

bool continues(const Pass& pass) { return pass.cache && pass.cache->length > 0; }

}  // namespace

Transformer::Transformer(const ModelConfig& config, const ModelPiece& piece, bool sequence_parallel,
                         Parameters& parameters)
    : config_(config.written_out()),
      sequence_parallel_(sequence_parallel && parameters.shards() > 1),
      shards_(parameters.shards()),
      dtype_(parameters.dtype()),
      first_(piece.first_block),
      last_(piece.last_block),
      decoder_(static_cast<int>(transformer_options(config_).encoder_layers)) {
  if (piece.embeds) begin_encoder(piece.chunk, parameters);
  if (first_ < decoder_) {
    std::vector<BlockSpec> blocks(static_cast<size_t>(std::min(last_, decoder_) - first_),
                                  encoder_block(config_, sequence_parallel_));
    give_skips(blocks, first_, config_.n_layers, config_.stochastic_depth);
    encoder_blocks_.emplace(parameters, first_, piece.chunk, blocks);
  }
  if (begins_decoder() && last_ > decoder_) begin_decoder(piece.chunk, parameters);
  if (last_ > decoder_) {
    const int first = std::max(first_, decoder_);
    std::vector<BlockSpec> blocks(static_cast<size_t>(last_ - first),
                                  decoder_block(config_, sequence_parallel_));
    give_skips(blocks, first, config_.n_layers, config_.stochastic_depth);
    decoder_blocks_.emplace(parameters, first, piece.chunk, blocks);
  }
  if (piece.predicts) add_head(piece.chunk, parameters);
}

void Transformer::begin_encoder(int chunk, Parameters& parameters) {
  embedding_.emplace(parameters, source_embedding(config_, sequence_parallel_), chunk);
  if (!has_bias()) return;
  parameters.enter("encoder_distances", chunk, {Part::block, 0, true});
  encoder_distances_.emplace(parameters, distances(config_, "encoder_distances", true));
}

void Transformer::begin_decoder(int chunk, Parameters& parameters) {
  const Part part{Part::block, decoder_};
  if (config_.norm_placement == NormPlacement::pre) {
    parameters.enter("encoder_norm", chunk, part);
    encoder_norm_.emplace(parameters, norm_spec(config_, "encoder_norm", sequence_parallel_));
  }
  EmbeddingSpec target = target_embedding(config_, sequence_parallel_);
  target.dropout_site = kTargetSite;
  target_.emplace(parameters, target, chunk);
  if (!has_bias()) return;
  parameters.enter("decoder_distances", chunk, part);
  decoder_distances_.emplace(parameters, distances(config_, "decoder_distances", false));
}

void Transformer::add_head(int chunk, Parameters& parameters) {
  if (config_.norm_placement == NormPlacement::pre) {
    parameters.enter("final_norm", chunk, {Part::final_norm});
    final_norm_.emplace(parameters, norm_spec(config_, "final_norm", sequence_parallel_));
  }
  head_ = &add_transformer_head(config_, chunk, parameters);
  const HeadBias bias = transformer_options(config_).head_bias;
  if (bias == HeadBias::none) return;
  parameters.enter("head_bias", chunk, {Part::head});
  head_bias_ = parameters.add({.name = "head.bias",
                               .shape = {config_.vocab_size},
                               .split = Split::vocab,
                               .constant = bias == HeadBias::kept});
}

Var Transformer::biased(const std::optional<DistanceBias>& table, int64_t length,
                        const Pass& pass) const {
  if (!table) return {};
  if (pass.cache) return (*table)(1, length, pass.cache->capacity(), pass.cache->length);
  return (*table)(pass.sequence().size(), length, length);
}

// Of a normed half: what is read of it.
Var Transformer::output_dropout(const Var& x, int site, const Pass& pass) const {
  return transformer_options(config_).drop_outputs
             ? residual_dropout(x, pass, config_.dropout, -1, site)
             : x;
}

Transformer::Stream Transformer::encoded(const Flow& flow, const Pass& pass) const {
  Pass reading = pass;
  reading.reads = &pass.batch->source;
  reading.cache = nullptr;
  Stream made;
  if (embedding_) {
    made.hidden = (*embedding_)(reading);
    made.beside.bias = biased(encoder_distances_, pass.batch->source.length(), reading);
  } else {
    made.hidden = flow[0];
    if (has_bias()) made.beside.bias = flow[1];
  }
  if (encoder_blocks_) made.hidden = (*encoder_blocks_)(made.hidden, reading, made.beside);
  return made;
}

// The decoder's first hidden states, and the memory where an encoder has been at work.
Transformer::Stream Transformer::begun(const Var& encoded, const Pass& pass) const {
  Stream made;
  if (encoded.defined())
    made.beside.memory =
        output_dropout(encoder_norm_ ? (*encoder_norm_)(encoded) : encoded, kMemorySite, pass);
  made.hidden = (*target_)(pass);
  made.beside.bias = biased(decoder_distances_, pass.batch->length(), pass);
  return made;
}

Transformer::Stream Transformer::decoding(const Flow& flow, const Pass& pass) const {
  if (!begins_decoder()) {
    const size_t bias = continues(pass) ? 1 : 2;
    return {flow[0], {continues(pass) ? Var() : flow[1], has_bias() ? flow[bias] : Var()}};
  }
  return begun(continues(pass) ? Var() : encoded(flow, pass).hidden, pass);
}

// made_here: what is read beside the hidden states does not come from the piece before.
Flow Transformer::handed_on(const Stream& stream, bool made_here) const {
  std::vector<Var> made{stream.hidden};
  for (const Var& one : {stream.beside.memory, stream.beside.bias})
    if (one.defined()) made.push_back(made_here ? sent_apart(one) : one);
  return Flow(std::move(made));
}

Var Transformer::features(const Var& hidden, const Pass& pass) const {
  const WhereScope here = WhereScope::part("head");
  const double scale = transformer_options(config_).scale_output
                           ? 1 / std::sqrt(static_cast<double>(config_.d_model))
                           : 1;
  const Var normed = normed_features(hidden, final_norm_ ? &*final_norm_ : nullptr, scale, pass);
  return feature_rows(output_dropout(normed, kFeaturesSite, pass), pass);
}

Flow Transformer::forward(const Flow& flow, const Pass& pass) const {
  const Pass inner = carried_out(pass);
  if (last_ <= decoder_)
    return continues(pass) ? Flow() : handed_on(encoded(flow, inner), embedding_.has_value());
  Stream stream = decoding(flow, inner);
  stream.hidden = (*decoder_blocks_)(stream.hidden, inner, stream.beside);
  return head_ ? Flow(features(stream.hidden, inner)) : handed_on(stream, begins_decoder());
}

FlowPart Transformer::hidden_part(const data::Sequence& of, const Pass& pass) const {
  const int64_t parts = carried_out(pass).sequence_parallel ? shards_ : 1;
  return {{of.size(), of.length() / parts, config_.d_model}, dtype_};
}

std::vector<FlowPart> Transformer::flow_parts(const Pass& pass) const {
  const bool in_encoder = begins_decoder(), decodes = continues(pass);
  if (in_encoder && decodes) return {};
  const data::Sequence &source = pass.batch->source, &read = in_encoder ? source : *pass.batch;
  std::vector<FlowPart> made{hidden_part(read, pass)};
  if (!in_encoder && !decodes) made.push_back(hidden_part(source, pass));
  if (!has_bias()) return made;
  const bool cached = pass.cache && !in_encoder;
  const int64_t keys = cached ? pass.cache->capacity() : read.length();
  made.push_back({{cached ? 1 : read.size(), config_.n_heads / shards_, read.length() + keys - 1},
                  gradient_dtype(dtype_)});
  return made;
}

Var Transformer::rows(const Var& output, const Pass& pass) const {
  return rows_at_places(output, *pass.batch);
}

std::unique_ptr<Objective> Transformer::objective() const {
  return head_ ? std::make_unique<TokenTerm>(*this) : nullptr;
}

}  // namespace skein
