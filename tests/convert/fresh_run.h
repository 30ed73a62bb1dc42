// Checkpoints of small models that no import made.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "skein/checkpoint/parameters.h"
#include "skein/convert/huggingface_config.h"
#include "skein/models/bert/bert.h"
#include "skein/models/description.h"
#include "skein/models/gpt/gpt.h"
#include "skein/models/transformer/transformer.h"

#include "convert/golden_folder.h"

namespace skein::test {

// A checkpoint that no import made, saved in `ranks` parts, as training would, with what `state`
// has besides.
inline void save_fresh(const std::string& directory, const ModelConfig& model, int ranks,
                       train::RunState state = {}) {
  log::set_level(log::Level::error);
  state.reduction_groups = 1;
  state.config = convert::model_values(model);
  run_ranks(ranks, [&](Group& tp) {
    Parameters parameters(DType::f32, tp.rank(), tp.size());
    const auto made = model.architecture->piece(model, whole_piece(model), false, parameters);
    parameters.allocate(false);
    parameters.initialize(5);
    std::vector<checkpoint::Piece> pieces;
    for (const Parameter& p : parameters.all())
      if (!p.tied() && (p.split != Split::none || tp.rank() == 0))
        pieces.push_back(checkpoint::piece_of("param", p, 0, p.value.flat(0, p.valid_size())));
    checkpoint::CheckpointStore(directory, 1, tp).save(0, pieces, to_json(state, {}));
  });
}

inline ModelConfig small_model() {
  ModelConfig c;
  c.vocab_size = 37;
  c.context = 8;
  c.d_model = 8;
  c.n_layers = 2;
  c.n_heads = 4;
  c.d_ff = 12;
  c.norm_epsilon = 1.0 / 3e5;  // that no short text says exactly
  return c;
}

inline ModelConfig small_bert(bool roberta) {
  ModelConfig c = small_model();
  c.architecture = &bert_architecture();
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  c.embedding_norm = true;
  c.token_types = 2;
  c.position_offset = roberta ? 2 : 0;
  bert_options(c).pooler = !roberta;
  return c;
}

inline ModelConfig small_mapper() {
  ModelConfig c = small_model();
  c.architecture = &transformer_architecture();
  c.n_layers = 3;
  c.n_heads = 2;
  c.norm_epsilon = 1e-5;
  c.attention_dropout = 0;
  transformer_options(c).encoder_layers = 2;
  return c;
}

inline ModelConfig small_t5() {
  ModelConfig c = small_mapper();
  c.positions = Positions::distance;
  c.norm = ops::Norm::rms;
  c.d_head = 3;
  c.bias = false;
  c.activation = MlpKind::relu;
  c.attention_dropout = -1;
  TransformerOptions& own = transformer_options(c);
  own.scale_scores = false;
  own.scale_output = own.drop_outputs = true;
  own.start = StartValues::fan_in;
  return c;
}

inline ModelConfig small_bart() {
  ModelConfig c = small_mapper();
  c.position_offset = 2;
  c.norm_placement = NormPlacement::post;
  c.activation = MlpKind::gelu_erf;
  c.embedding_norm = true;
  transformer_options(c).head_bias = HeadBias::kept;
  return c;
}

inline ModelConfig small_marian() {
  ModelConfig c = small_bart();
  c.positions = Positions::sinusoidal;
  c.position_offset = 0;
  c.activation = MlpKind::silu;
  c.embedding_norm = false;
  c.scale_embeddings = true;
  return c;
}

}  // namespace skein::test
