// The families there are, and what several have alike.
#pragma once

#include "convert/foreign_family.h"

namespace skein::convert {

const ForeignFamily& gpt2_family();
const ForeignFamily& gpt_neox_family();
const ForeignFamily& opt_family();
const ForeignFamily& llama_family();
const ForeignFamily& mistral_family();
const ForeignFamily& qwen2_family();
const ForeignFamily& qwen3_family();
const ForeignFamily& phi3_family();
const ForeignFamily& gemma3_family();
const ForeignFamily& bert_family();
const ForeignFamily& roberta_family();
const ForeignFamily& xlm_roberta_family();
const ForeignFamily& camembert_family();
const ForeignFamily& longformer_family();
const ForeignFamily& big_bird_family();
const ForeignFamily& t5_family();
const ForeignFamily& mt5_family();
const ForeignFamily& bart_family();
const ForeignFamily& mbart_family();
const ForeignFamily& marian_family();
const ForeignFamily& vit_family();
const ForeignFamily& swin_family();
const ForeignFamily& mae_family();

// Of OPT and BART. What their norms add to the variance, PyTorch's own, which files do not say; and
// rows of positions before that of the first, a leftover of padding.
constexpr double kUsualEpsilon = 1e-5;
constexpr int64_t kPaddingRows = 2;

// Collects the names of a model's tensors.
struct NameCollector {
  NameCollector(const ModelConfig& config, const std::string& prefix) : c(config) {
    map.prefix = prefix;
  }
  // Theirs and ours of one shape.
  ForeignTensor& same(const std::string& theirs, const std::string& ours,
                      const std::vector<int64_t>& shape) {
    return map.tensors.emplace_back(ForeignTensor{theirs, {}, shape, false, {{ours, shape}}});
  }
  void linear(const std::string& theirs, const std::string& ours, int64_t outputs, int64_t inputs,
              bool bias) {
    same(theirs + ".weight", ours + ".weight", {outputs, inputs});
    if (bias) same(theirs + ".bias", ours + ".bias", {outputs});
  }
  void layer_norm(const std::string& theirs, const std::string& ours) {
    same(theirs + ".weight", ours + ".gain", {c.d_model});
    same(theirs + ".bias", ours + ".bias", {c.d_model});
  }
  // "block.3".
  static std::string block(int64_t i) { return "block." + std::to_string(i); }

  const ModelConfig& c;
  NameMap map;
};

Demand plain_heads(const ModelConfig& c);
// One of the activations that ForeignConfig::activation writes.
Demand plain_activation(const ModelConfig& c);

// How blocks are made of their parts: one half after the other, no norms of heads, all of attention
// with biases or none.
std::vector<Demand> plain_blocks(const ModelConfig& c);
// Decoders: what each demands, behind its own; but for Gemma that embeddings and scores are scaled
// as usual, too.
std::vector<Demand> decoder_demands(const ModelConfig& c, std::vector<Demand> own);
std::vector<Demand> scaled_decoder_demands(const ModelConfig& c, std::vector<Demand> own);
// Logits by the tokens' weights, whose name is `tokens`, or by their own; or a score without bias.
void add_decoder_head(NameCollector& names, const std::string& tokens);

// Rotary positions. What the keys of config.json are called that say their base and which share of
// each head they turn; the share where nothing says it. A share of the plain name must be 1, unless
// `shares`.
struct RotaryKeys {
  std::string theta = "rope_theta", share = "partial_rotary_factor";
  double usual_share = 1;
  bool shares = false;
  // Ways of stretching that transformers' class knows.
  std::vector<std::string> types = {"linear", "llama3", "yarn", "dynamic", "longrope"};
  // original_max_position_embeddings where only the stretching, or nothing, says it; 0: the context
  // where nothing does.
  int64_t usual_original = 0;

  bool has_share() const { return shares || share != "partial_rotary_factor"; }
};
// The model that is read has its sizes. Of longrope it gets the factors of shorter texts, and a
// context of no longer ones; of dynamic it needs nothing, which changes no text within the context.
void rotary_keys(ForeignConfig& keys, ModelConfig& c, const RotaryKeys& names = {});
// What rope_parameters says for one kind of layers, or rope_scaling: without share.
void read_stretching(const ForeignConfig& config, const ForeignConfig& rope,
                     const RotaryKeys& names, ModelConfig& c);
ForeignJson stretching_json(const ModelConfig& c);

// What layers are, by config.json's layer_types, or where it has none in `usual` (full or window);
// the first ones that the others repeat.
std::vector<std::string> layer_kinds(const ForeignConfig& keys, const ModelConfig& c,
                                     std::vector<std::string> usual);
// layer_types of a model whose layers are so.
ForeignJson layer_types(const ModelConfig& c);
bool has_windows(const std::vector<std::string>& kinds);
Demand windows_only(const ModelConfig& c);
// All layers see all, or all have one window.
Demand one_window_or_none(const ModelConfig& c);

// The gated activation whose gate is `plain`, and the other way.
MlpKind gated_by(MlpKind plain);
MlpKind gate_of(MlpKind gated);

// Llama and its like: who sees whom, and which parts of attention have biases, is of the family.
std::vector<Demand> llama_demands(const ModelConfig& c, std::vector<Demand> own);
// The same of layers that may turn a part of each head.
std::vector<Demand> llama_layer_demands(const ModelConfig& c, std::vector<Demand> own);
Demand whole_turns(const ModelConfig& c);
NameMap llama_names(const ModelConfig& c);
// The same around blocks whose tensors are cut otherwise: `theirs` and `ours` are a block's names.
using AddBlock = void (*)(NameCollector& names, const std::string& theirs, const std::string& ours);
NameMap llama_names_by(const ModelConfig& c, AddBlock add);
// Of keys that may be absent.
struct LlamaDefaults {
  int64_t key_heads = 0, head_width = 0, context = 2048;  // 0: as the model's other sizes say
  double epsilon = 1e-6;
  RotaryKeys rotary = {};
};
void llama_keys(ForeignConfig& keys, ModelConfig& c, const LlamaDefaults& defaults = {});

// Encoders, BERT and its like. `offset` is what is demanded of the first row of positions, and
// `of_head` what follows the dense layer of the vocabulary head.
std::vector<Demand> encoder_demands(const ModelConfig& c, const Demand& offset, MlpKind of_head);
// Embeddings, blocks and what files hold besides.
void add_encoder(NameCollector& names);
// What turns features into logits over the vocabulary; `bias` is the name beside the decoder's own.
void add_vocabulary_head(NameCollector& names, const std::string& dense, const std::string& norm,
                         const std::string& decoder, const std::string& bias);
// The model has its position_offset.
void encoder_keys(ForeignConfig& keys, ModelConfig& c);
Demand full_attention(const ModelConfig& c);
Demand tanh_pooler(const ModelConfig& c);
// A dense layer, which is our pooler, and the labels of what comes of it.
void add_dense_classifier(NameCollector& names);

// BERT and BigBird. pooling: what their files call the pooler's product.
NameMap bert_names(const ModelConfig& c, const std::string& pooling);

// RoBERTa and what was made of it, but for who sees whom.
std::vector<Demand> roberta_demands(const ModelConfig& c);
void add_roberta_head(NameCollector& names);
void roberta_keys(ForeignConfig& keys, ModelConfig& c);

// Models of pictures.
std::vector<Demand> picture_demands(const ModelConfig& c);
// The same without those of the head.
std::vector<Demand> layer_demands(const ModelConfig& c);
void add_patches(NameCollector& names);
void add_picture_block(NameCollector& names, const std::string& theirs, const std::string& ours,
                       int64_t width, int64_t hidden);
// patch: the size of patches where nothing says it. Of a model that is read the context becomes the
// number of patches.
void picture_keys(ForeignConfig& keys, ModelConfig& c, int64_t patch);

// Encoder-decoders. How many of the blocks are the encoder's, which are the first.
int64_t encoder_layers(const ModelConfig& c);
void take_layers(const ForeignConfig& keys, ModelConfig& c, int64_t encoder, int64_t decoder);
std::vector<Demand> mapper_demands(const ModelConfig& c);
void mapper_keys(ForeignConfig& keys);

}  // namespace skein::convert
