// What a model is made of: options that all architectures have, and those that one alone has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/kernels/rotary.h"
#include "skein/models/attention_options.h"
#include "skein/models/own_options.h"
#include "skein/models/registry.h"
#include "skein/nn/embedding.h"
#include "skein/nn/stack.h"

namespace skein {

using kernels::RopeScaling;
// What the last piece ends in: logits over the vocabulary, or `labels` numbers for a sequence or
// for each of its tokens.
enum class Head { vocabulary, sequence, token };
// How the last hidden states of a text become one vector that stands for it. Padding is left out.
enum class Pool { mean, first, last };

struct ModelConfig {
  const Architecture* architecture = architectures().front();
  int64_t vocab_size = 0;  // 0: the tokenizer's
  int64_t context = 256;
  int64_t d_model = 256;
  int64_t n_layers = 4;
  int64_t n_heads = 4;
  int64_t n_kv_heads = 0;  // 0: n_heads
  int64_t d_head = 0;      // 0: d_model / n_heads
  int64_t d_ff = 0;        // 0: 4 d_model
  Positions positions = Positions::learned;
  // the first position reads this row of the learned positions: 2 in RoBERTa's layout
  int64_t position_offset = 0;
  kernels::Sinusoid sinusoids = kernels::Sinusoid::halves;  // how sinusoidal positions lie
  bool scale_embeddings = false;  // tokens' embeddings are multiplied by sqrt(d_model)
  double rope_theta = 10000;
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 1;
  // llama3, yarn: waves longer than rope_context / low are divided, shorter than / high kept
  double rope_low_frequency = 1, rope_high_frequency = 4;
  int64_t rope_context = 8192;
  // of yarn, 0: 0.1 ln(rope_factor) + 1; of longrope, 0: sqrt(1 + ln(rope_factor) /
  // ln(rope_context))
  double rope_amplitude = 0;
  // longrope: by what each frequency is divided in texts of up to rope_context tokens
  std::vector<double> rope_factors;
  int64_t rope_width = 0;  // numbers of a head that positions turn; 0: all
  ops::Norm norm = ops::Norm::layer;
  NormPlacement norm_placement = NormPlacement::pre;
  double norm_epsilon = 1e-5;
  MlpKind activation = MlpKind::gelu_tanh;
  bool bias = true;
  bool tie_embeddings = true;
  // biases of queries, keys, values and the attention's result also where `bias` is off
  bool attention_bias = false;
  bool attention_out_bias = true;  // false: attention's result has none of these
  bool qk_norm = false;            // an RMS norm of each head's queries and keys
  int64_t score_width = 0;         // q.k is divided by the root of this; 0: of the head's width
  double rope_window_theta = 0;    // base of blocks with windows, unscaled; 0: as of the others
  bool parallel_blocks = false;    // both halves of a block read what enters it
  // kinds of tokens with an embedding each (BERT's segments A and B); 0: none
  int64_t token_types = 0;
  bool embedding_norm = false;  // a norm right after the embeddings
  Head head = Head::vocabulary;
  int64_t labels = 0;    // of head sequence and token
  double head_std = -1;  // initial deviation of the head's numbers; below 0: init_std
  double dropout = 0;
  double attention_dropout = -1;  // of attention's weights; below 0: dropout
  double activation_dropout = 0;  // of what enters the last product of a feed-forward layer
  // probability that a sample goes past a half block of the last block; rises linearly to that
  double stochastic_depth = 0;
  double init_std = 0.02;
  // d_model of the model at which the learning rate was chosen, for muP (below); 0: without
  int64_t mup_base_width = 0;
  int64_t mup_base_head = 0;   // width of that model's heads; 0: as wide as here
  AttentionOptions attention;  // who sees whom
  OwnOptions own;              // of one architecture alone: a struct in its folder

  int64_t kv_heads() const { return n_kv_heads ? n_kv_heads : n_heads; }
  int64_t head_width() const { return d_head ? d_head : d_model / n_heads; }
  int64_t hidden() const { return d_ff ? d_ff : 4 * d_model; }
  double dropout_of_attention() const {
    return attention_dropout < 0 ? dropout : attention_dropout;
  }
  bool drops() const {
    return dropout > 0 || attention_dropout > 0 || activation_dropout > 0 || stochastic_depth > 0;
  }
  // The options of a run (OptionOf::run), not of a model.
  void take_dropout(const ModelConfig& from);
  double head_deviation() const { return head_std < 0 ? init_std : head_std; }
  // Maximal update parametrisation for Adam (Yang, Hu and others, "Tensor Programs V", 2022, table
  // 8), with m = d_model / mup_base_width: weights inside the blocks start with init_std / sqrt(m)
  // and learn at lr / m, the rest as without it; logits and what label and value heads give are
  // divided by m; scores are q.k sqrt(mup_base_head) / head_width. With m = 1 and equal heads
  // nothing differs.
  double width_ratio() const {
    return mup_base_width ? static_cast<double>(d_model) / static_cast<double>(mup_base_width) : 1;
  }
  // What q.k is multiplied by.
  double attention_scale() const;
  // The same model with the sizes above instead of 0, and with the values that its own options
  // stand for.
  ModelConfig written_out() const;
  // Learned numbers in the whole model, tied tensors once.
  int64_t parameters() const;
};

// Sections of the options that say which model it is.
inline const std::vector<std::string> kModelSections{"model.", "attention."};
inline bool is_of_model(std::string_view key) {
  return key.starts_with(kModelSections[0]) || key.starts_with(kModelSections[1]);
}

// What an option decides. Of the options of the model's sections, `model` ones say which model it
// is, and checkpoints of one model agree in them; `run` ones say how a run trains it (dropout,
// stochastic depth), and `start` ones what its weights were before it learnt.
enum class OptionOf { model, run, start, others };
OptionOf option_of(std::string_view key);

// The frequencies of rotary positions, of blocks whose attention is of that kind.
kernels::RotaryWaves rotary_waves(const ModelConfig& config, SightKind kind = SightKind::full);

// Binds every field under sections "model" and "attention".
void bind(Options& options, ModelConfig& config);
// Throws usage errors for sizes that are impossible, by themselves or with `tensor_parallel`
// shards. They name both values and what to change.
void check(const ModelConfig& config, int tensor_parallel, bool sequence_parallel);

}  // namespace skein
