#include "skein/models/tensors.h"

namespace skein {
namespace {

void add_linear(TensorShapes& made, const std::string& name, int64_t outputs, int64_t inputs,
                bool bias) {
  made[name + ".weight"] = {outputs, inputs};
  if (bias) made[name + ".bias"] = {outputs};
}

void add_norm(TensorShapes& made, const std::string& name, const ModelConfig& c) {
  made[name + ".gain"] = {c.d_model};
  if (c.norm == ops::Norm::layer && c.bias) made[name + ".bias"] = {c.d_model};
}

void add_embedding(TensorShapes& made, const ModelConfig& c) {
  made["embedding.tokens.weight"] = {c.vocab_size, c.d_model};
  if (c.positions == Positions::learned)
    made["embedding.positions.weight"] = {c.context + c.position_offset, c.d_model};
  if (c.token_types > 0) made["embedding.types.weight"] = {c.token_types, c.d_model};
  if (c.embedding_norm) add_norm(made, "embedding.norm", c);
}

void add_decoder_head(TensorShapes& made, const ModelConfig& c) {
  if (c.norm_placement == NormPlacement::pre) add_norm(made, "final_norm", c);
  if (c.head != Head::vocabulary) return add_linear(made, "classifier", c.labels, c.d_model, false);
  if (!c.tie_embeddings) made["head.weight"] = {c.vocab_size, c.d_model};
  if (c.value_head) add_linear(made, "value", 1, c.d_model, true);
}

void add_encoder_head(TensorShapes& made, const ModelConfig& c) {
  if (c.pooler) add_linear(made, "pooler", c.d_model, c.d_model, true);
  if (c.head != Head::vocabulary) return add_linear(made, "classifier", c.labels, c.d_model, true);
  add_linear(made, "head.dense", c.d_model, c.d_model, true);
  add_norm(made, "head.norm", c);
  if (!c.tie_embeddings) made["head.weight"] = {c.vocab_size, c.d_model};
  made["head.bias"] = {c.vocab_size};
  if (c.pooler) add_linear(made, "pair", 2, c.d_model, true);
}

}  // namespace

TensorShapes block_tensors(const ModelConfig& c) {
  const int64_t queries = c.n_heads * c.head_width(), keys = c.kv_heads() * c.head_width();
  const bool attention_bias = c.bias || c.attention_bias;
  TensorShapes made;
  add_norm(made, "norm_1", c);
  add_linear(made, "attention.q", queries, c.d_model, attention_bias);
  add_linear(made, "attention.k", keys, c.d_model, attention_bias);
  add_linear(made, "attention.v", keys, c.d_model, attention_bias);
  add_linear(made, "attention.out", c.d_model, queries, attention_bias);
  add_norm(made, "norm_2", c);
  add_linear(made, "mlp.up", c.hidden(), c.d_model, c.bias);
  add_linear(made, "mlp.down", c.d_model, c.hidden(), c.bias);
  if (c.activation == MlpKind::swiglu) add_linear(made, "mlp.gate", c.hidden(), c.d_model, c.bias);
  return made;
}

TensorShapes other_tensors(const ModelConfig& c) {
  TensorShapes made;
  add_embedding(made, c);
  if (c.architecture == Architecture::gpt)
    add_decoder_head(made, c);
  else
    add_encoder_head(made, c);
  return made;
}

}  // namespace skein
