// BART and what came of it: mBART, with its norms before the sublayers and one behind each half,
// and Marian, whose positions are sinusoids and whose halves may have vocabularies of their own.
#include "skein/models/transformer/transformer.h"

#include "families.h"

namespace skein::convert {
namespace {

constexpr char kShared[] = "model.shared.weight",
               kOfEncoder[] = "model.encoder.embed_tokens.weight",
               kOfDecoder[] = "model.decoder.embed_tokens.weight", kHead[] = "lm_head.weight";

bool is_pre(const ModelConfig& c) { return c.norm_placement == NormPlacement::pre; }

std::vector<Demand> common_demands(const ModelConfig& c) {
  const TransformerOptions& own = transformer_options(c);
  std::vector<Demand> all = mapper_demands(c);
  all.insert(all.end(), {{c.norm == ops::Norm::layer && c.norm_epsilon == kUsualEpsilon,
                          "layer norm with model.norm_epsilon=1e-5"},
                         plain_activation(c),
                         plain_heads(c),
                         {c.bias, "model.bias=true"},
                         {own.scale_scores && !own.scale_output,
                          "model.scale_scores=true and model.scale_output=false"},
                         {c.architecture->source_context(c) == c.context,
                          "model.source_context as model.context"}});
  return all;
}

std::vector<Demand> learned_demands(const ModelConfig& c, NormPlacement placement) {
  std::vector<Demand> all = common_demands(c);
  const bool shares = transformer_options(c).share_source;
  all.insert(
      all.end(),
      {{c.positions == Positions::learned && c.position_offset == kPaddingRows,
        "model.positions=learned with model.position_offset=2"},
       {c.norm_placement == placement,
        placement == NormPlacement::pre ? "model.norm_placement=pre" : "model.norm_placement=post"},
       {c.embedding_norm, "model.embedding_norm=true"},
       {shares || !c.tie_embeddings, "model.share_source or no model.tie_embeddings"},
       {c.architecture->source_ids(c) == c.vocab_size, "one vocabulary"}});
  return all;
}

std::vector<Demand> bart_demands(const ModelConfig& c) {
  return learned_demands(c, NormPlacement::post);
}

std::vector<Demand> mbart_demands(const ModelConfig& c) {
  return learned_demands(c, NormPlacement::pre);
}

std::vector<Demand> marian_demands(const ModelConfig& c) {
  std::vector<Demand> all = common_demands(c);
  all.insert(all.end(), {{c.positions == Positions::sinusoidal &&
                              c.sinusoids == kernels::Sinusoid::halves && c.d_model % 2 == 0,
                          "model.positions=sinusoidal with model.sinusoids=halves"},
                         {c.norm_placement == NormPlacement::post, "model.norm_placement=post"},
                         {!c.embedding_norm, "model.embedding_norm=false"}});
  return all;
}

struct BartHalf {
  std::string theirs;     // "model.encoder."
  std::string embedding;  // of ours
  std::string norm;       // behind the last block
  int64_t begin, end;     // its blocks
  int64_t rows;           // of learned positions
  bool looks_at = false;  // the other half
};

std::vector<BartHalf> halves(const ModelConfig& c) {
  const int64_t encoder = encoder_layers(c);
  return {{"model.encoder.", "embedding", "encoder_norm", 0, encoder,
           c.architecture->source_context(c) + c.position_offset},
          {"model.decoder.", "target", "final_norm", encoder, c.n_layers,
           c.context + c.position_offset, true}};
}

void add_bart_attention(NameCollector& names, const std::string& theirs, const std::string& ours) {
  const int64_t width = names.c.d_model;
  for (const char* part : {"q", "k", "v", "out"})
    names.linear(fmt::format("{}.{}_proj", theirs, part), fmt::format("{}.{}", ours, part), width,
                 width, true);
}

void add_bart_block(NameCollector& names, const BartHalf& half, int64_t i) {
  const std::string theirs = fmt::format("{}layers.{}.", half.theirs, i - half.begin),
                    ours = names.block(i);
  const int64_t width = names.c.d_model, hidden = names.c.hidden();
  add_bart_attention(names, theirs + "self_attn", ours + ".attention");
  names.layer_norm(theirs + "self_attn_layer_norm", ours + ".norm_1");
  if (half.looks_at) {
    add_bart_attention(names, theirs + "encoder_attn", ours + ".cross");
    names.layer_norm(theirs + "encoder_attn_layer_norm", ours + ".norm_2");
  }
  names.linear(theirs + "fc1", ours + ".mlp.up", hidden, width, true);
  names.linear(theirs + "fc2", ours + ".mlp.down", width, hidden, true);
  names.layer_norm(theirs + "final_layer_norm", ours + (half.looks_at ? ".norm_3" : ".norm_2"));
}

void add_bart_half(NameCollector& names, const BartHalf& half) {
  const ModelConfig& c = names.c;
  const std::string positions = half.theirs + "embed_positions.weight";
  if (c.positions == Positions::learned)
    names.same(positions, half.embedding + ".positions.weight", {half.rows, c.d_model});
  else
    names.map.buffers.push_back(positions);
  if (c.embedding_norm)
    names.layer_norm(half.theirs + "layernorm_embedding", half.embedding + ".norm");
  for (int64_t i = half.begin; i < half.end; ++i) add_bart_block(names, half, i);
  if (is_pre(c)) names.layer_norm(half.theirs + "layer_norm", half.norm);
}

// One table. Where the head has its own, transformers 5 takes none of them for one.
void add_shared_table(NameCollector& names) {
  const ModelConfig& c = names.c;
  names.same(kShared, "embedding.tokens.weight", {c.vocab_size, c.d_model}).other_names = {
      kOfEncoder, kOfDecoder};
  names.map.second_uses = {{kOfEncoder, kShared, false}, {kOfDecoder, kShared, false}};
  if (c.tie_embeddings)
    names.map.second_uses.push_back({kHead, kShared});
  else
    names.map.copies = {{kOfEncoder, kShared}, {kOfDecoder, kShared}};
}

// A table each. Files of BART and mBART hold a third, which nobody reads.
void add_tables(NameCollector& names) {
  const ModelConfig& c = names.c;
  names.same(kOfEncoder, "embedding.tokens.weight", {c.architecture->source_ids(c), c.d_model});
  names.same(kOfDecoder, "target.tokens.weight", {c.vocab_size, c.d_model});
  if (c.tie_embeddings) names.map.second_uses = {{kHead, kOfDecoder}};
  if (c.positions != Positions::learned) return;
  names.map.copies = {{kShared, kOfEncoder}};
  names.map.buffers.push_back(kShared);
}

// Files always hold a bias of the head: zeros where the model has none.
void add_head(NameCollector& names) {
  const ModelConfig& c = names.c;
  if (!c.tie_embeddings) names.same(kHead, "head.weight", {c.vocab_size, c.d_model});
  ForeignTensor bias{"final_logits_bias", {}, {1, c.vocab_size}, false, {}};
  if (transformer_options(c).head_bias != HeadBias::none)
    bias.parts = {{"head.bias", {c.vocab_size}}};
  names.map.tensors.push_back(bias);
  // A buffer there, while tables of waves, which no file holds, are parameters.
  names.map.other_parameters -= c.vocab_size;
  if (c.positions == Positions::sinusoidal) names.map.other_parameters += 2 * c.context * c.d_model;
}

NameMap bart_names(const ModelConfig& c) {
  NameCollector names(c, "model.");
  if (transformer_options(c).share_source)
    add_shared_table(names);
  else
    add_tables(names);
  for (const BartHalf& half : halves(c)) add_bart_half(names, half);
  add_head(names);
  return names.map;
}

void size_keys(ForeignConfig& keys, ModelConfig& c) {
  int64_t encoder = encoder_layers(c), decoder = c.n_layers - encoder;
  keys.size("d_model", c.d_model, 1024, "hidden_size");
  keys.size("encoder_layers", encoder, 12, "num_hidden_layers");
  keys.size("decoder_layers", decoder, 12);
  take_layers(keys, c, encoder, decoder);
  keys.size("encoder_attention_heads", c.n_heads, 16, "num_attention_heads");
  keys.alike("encoder_attention_heads", "decoder_attention_heads", c.n_heads, 16);
  keys.size("encoder_ffn_dim", c.d_ff, 4096);
  keys.alike("encoder_ffn_dim", "decoder_ffn_dim", c.d_ff, 4096);
  keys.size("max_position_embeddings", c.context, 1024);
}

// What older files say of the program that made them, and transformers does not read.
void check_kind(const ForeignConfig& keys, const ModelConfig& c) {
  const std::string why = "and models of this family are computed otherwise";
  const bool learns = c.positions == Positions::learned;
  keys.must_be("normalize_before", is_pre(c), why);
  keys.must_be("add_final_layer_norm", is_pre(c), why);
  keys.must_be("normalize_embedding", c.embedding_norm, why);
  keys.must_be("static_position_embeddings", !learns, why);
  if (learns && keys.integer("extra_pos_embeddings", kPaddingRows) != kPaddingRows)
    keys.refuse("extra_pos_embeddings", "and the first position has the third row here");
}

void common_keys(ForeignConfig& keys, ModelConfig& c) {
  c.norm_epsilon = kUsualEpsilon;
  mapper_keys(keys);
  size_keys(keys, c);
  keys.activation("activation_function", c.activation, "gelu");
  keys.truth("scale_embedding", c.scale_embeddings, false);
  keys.real("dropout", c.dropout, 0.1);
  c.attention_dropout = c.dropout_of_attention();
  keys.real("attention_dropout", c.attention_dropout, 0);
  keys.real("activation_dropout", c.activation_dropout, 0);
  if (!keys.reads()) return;
  transformer_options(c).head_bias = HeadBias::kept;
  check_kind(keys, c);
}

// Either name of a tensor; a file of the bare model has the second.
std::string held_name(const ForeignConfig& keys, const std::string& name) {
  return keys.has_tensor(name) ? name : name.substr(std::string("model.").size());
}

// Tables that a file holds apart are apart, whatever config.json says.
void learned_keys(ForeignConfig& keys, ModelConfig& c, NormPlacement placement) {
  c.positions = Positions::learned;
  c.position_offset = kPaddingRows;
  c.norm_placement = placement;
  c.embedding_norm = true;
  common_keys(keys, c);
  if (!keys.reads()) return;
  const std::string source = held_name(keys, kOfEncoder), target = held_name(keys, kOfDecoder);
  const bool both = keys.has_tensor(source) && keys.has_tensor(target);
  if (!both || keys.same_tensors(source, target)) return;
  transformer_options(c).share_source = c.tie_embeddings = false;
}

void bart_keys(ForeignConfig& keys, ModelConfig& c) { learned_keys(keys, c, NormPlacement::post); }

void mbart_keys(ForeignConfig& keys, ModelConfig& c) { learned_keys(keys, c, NormPlacement::pre); }

// vocab_size is the source's.
void vocabulary_keys(ForeignConfig& keys, ModelConfig& c) {
  TransformerOptions& own = transformer_options(c);
  keys.truth("share_encoder_decoder_embeddings", own.share_source, true);
  if (!keys.reads()) {
    keys.write("vocab_size", c.architecture->source_ids(c));
    keys.write("decoder_vocab_size", c.vocab_size);
    return;
  }
  const int64_t source = c.vocab_size;
  c.vocab_size = keys.integer("decoder_vocab_size", source);
  if (!own.share_source) own.source_vocab_size = source;
  require(!own.share_source || c.vocab_size == source,
          "{}: \"vocab_size\" is {} and \"decoder_vocab_size\" is {}, which one table cannot have "
          "(\"share_encoder_decoder_embeddings\" is true)",
          keys.origin(), source, c.vocab_size);
}

void marian_keys(ForeignConfig& keys, ModelConfig& c) {
  c.positions = Positions::sinusoidal;
  c.sinusoids = kernels::Sinusoid::halves;
  c.norm_placement = NormPlacement::post;
  vocabulary_keys(keys, c);
  common_keys(keys, c);
  require(c.d_model % 2 == 0,
          "{}: \"d_model\" is {}; sinusoids here have as many cosines as sines, so it must be even",
          keys.origin(), c.d_model);
}

ForeignFamily bart_like_family(const char* name, const char* stem, const char* class_name) {
  ForeignFamily made{name,         stem,
                     {class_name}, transformer_architecture(),
                     nullptr,      bart_names,
                     nullptr,      {"hidden_size", "num_hidden_layers", "num_attention_heads"}};
  made.deviation = "init_std";
  made.forces_end = true;
  return made;
}

}  // namespace

const ForeignFamily& bart_family() {
  static const ForeignFamily only = [] {
    ForeignFamily made = bart_like_family("bart", "Bart", "ForConditionalGeneration");
    made.demands = bart_demands;
    made.keys = bart_keys;
    made.start = 2;
    return made;
  }();
  return only;
}

const ForeignFamily& mbart_family() {
  static const ForeignFamily only = [] {
    ForeignFamily made = bart_like_family("mbart", "MBart", "ForConditionalGeneration");
    made.demands = mbart_demands;
    made.keys = mbart_keys;
    return made;
  }();
  return only;
}

const ForeignFamily& marian_family() {
  static const ForeignFamily only = [] {
    ForeignFamily made = bart_like_family("marian", "Marian", "MTModel");
    made.demands = marian_demands;
    made.keys = marian_keys;
    made.start = 58100;
    return made;
  }();
  return only;
}

}  // namespace skein::convert
