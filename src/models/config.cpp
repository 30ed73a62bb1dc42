#include "skein/models/config.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "skein/models/architecture.h"

#include "limits.h"
#include "rotary_options.h"

namespace skein {

double ModelConfig::attention_scale() const {
  const auto width = static_cast<double>(head_width());
  if (score_width > 0) return 1 / std::sqrt(static_cast<double>(score_width));
  return std::sqrt(static_cast<double>(mup_base_head ? mup_base_head : head_width()) / width) /
         std::sqrt(width);
}

ModelConfig ModelConfig::written_out() const {
  ModelConfig made = *this;
  made.n_kv_heads = kv_heads();
  made.d_head = head_width();
  made.d_ff = hidden();
  if (mup_base_width && !mup_base_head) made.mup_base_head = head_width();
  architecture->write_out(made);
  return made;
}

namespace {

struct RunOption {
  std::string_view key;
  double ModelConfig::*value;
};

constexpr RunOption kRunOptions[] = {
    {"model.dropout", &ModelConfig::dropout},
    {"model.attention_dropout", &ModelConfig::attention_dropout},
    {"model.activation_dropout", &ModelConfig::activation_dropout},
    {"model.stochastic_depth", &ModelConfig::stochastic_depth},
};

}  // namespace

void ModelConfig::take_dropout(const ModelConfig& from) {
  for (const RunOption& one : kRunOptions) this->*one.value = from.*one.value;
}

OptionOf option_of(std::string_view key) {
  if (!is_of_model(key)) return OptionOf::others;
  if (std::ranges::find(kRunOptions, key, &RunOption::key) != std::end(kRunOptions))
    return OptionOf::run;
  return key == "model.init_std" || key == "model.head_std" ? OptionOf::start : OptionOf::model;
}

namespace {

void bind_sizes(Options& options, ModelConfig& c) {
  std::vector<std::pair<std::string, const Architecture*>> names;
  std::string help;
  for (const Architecture* one : architectures()) {
    names.emplace_back(one->name(), one);
    help += fmt::format("{}{}: {}", help.empty() ? "" : "; ", one->name(), one->help());
  }
  options.add_choice("model.architecture", c.architecture, names, help);
  options.add("model.vocab_size", c.vocab_size, "vocabulary; 0 takes the tokenizer's", "ids");
  options.add("model.context", c.context, "longest sequence", "tokens");
  options.add("model.d_model", c.d_model, "width of the residual stream");
  options.add("model.n_layers", c.n_layers, "transformer blocks");
  options.add("model.n_heads", c.n_heads, "query heads");
  options.add("model.n_kv_heads", c.n_kv_heads, "key and value heads; 0 means n_heads");
  options.add("model.d_head", c.d_head, "width of a head; 0 means d_model / n_heads");
  options.add("model.d_ff", c.d_ff, "width of the feed-forward layer; 0 means 4 d_model");
}

void bind_positions(Options& options, ModelConfig& c) {
  options.add_choice("model.positions", c.positions,
                     {{"learned", Positions::learned},
                      {"sinusoidal", Positions::sinusoidal},
                      {"rotary", Positions::rotary},
                      {"distance", Positions::distance}},
                     "how positions enter; distance: scores of attention get a learnt number for "
                     "how far apart two tokens are (T5)");
  options.add("model.position_offset", c.position_offset,
              "row of the learned positions that the first place reads; 2 in RoBERTa's layout");
  options.add_choice("model.sinusoids", c.sinusoids,
                     {{"halves", kernels::Sinusoid::halves}, {"pairs", kernels::Sinusoid::pairs}},
                     "sinusoidal positions: all sines before all cosines, or each sine before its "
                     "cosine");
  bind_rotary(options, c);
}

void bind_layers(Options& options, ModelConfig& c) {
  options.add_choice(
      "model.norm", c.norm,
      {{"layer", ops::Norm::layer},
       {"rms", ops::Norm::rms},
       {"rms_zero_centered", ops::Norm::rms_zero_centered}},
      "normalisation; rms_zero_centered: rms with gains that are 1 + what is learnt");
  options.add_choice("model.norm_placement", c.norm_placement,
                     {{"pre", NormPlacement::pre},
                      {"post", NormPlacement::post},
                      {"sandwich", NormPlacement::sandwich}},
                     "norm before or after each half block; sandwich: before it, and of what it "
                     "makes before that is added");
  options.add("model.norm_epsilon", c.norm_epsilon, "added to the variance");
  options.add_choice("model.activation", c.activation,
                     {{"gelu_tanh", MlpKind::gelu_tanh},
                      {"gelu_erf", MlpKind::gelu_erf},
                      {"relu", MlpKind::relu},
                      {"silu", MlpKind::silu},
                      {"swiglu", MlpKind::swiglu},
                      {"geglu_tanh", MlpKind::geglu_tanh},
                      {"geglu_erf", MlpKind::geglu_erf},
                      {"reglu", MlpKind::reglu}},
                     "feed-forward nonlinearity; those in glu have a gate, a third product");
  options.add("model.bias", c.bias, "biases in linear layers and layer norms");
  options.add("model.attention_bias", c.attention_bias,
              "biases in attention's linear layers also where model.bias is off");
  options.add("model.attention_out_bias", c.attention_out_bias,
              "false: attention's last linear layer has no bias, though queries, keys and values "
              "have");
  options.add("model.qk_norm", c.qk_norm,
              "an RMS norm of each head's queries and of its keys, before positions turn them");
  options.add("model.score_width", c.score_width,
              "scores of attention are divided by the root of this; 0: of the width of a head");
  options.add("model.parallel_blocks", c.parallel_blocks,
              "attention and feed-forward layer of a block both read norms of what enters it");
}

void bind_inputs_and_heads(Options& options, ModelConfig& c) {
  options.add("model.token_types", c.token_types,
              "kinds of tokens with an embedding each, such as BERT's segments A and B; 0: none");
  options.add("model.embedding_norm", c.embedding_norm, "a norm right after the embeddings");
  options.add("model.scale_embeddings", c.scale_embeddings,
              "embeddings of tokens are multiplied by sqrt(d_model) before positions are added");
  options.add_choice(
      "model.head", c.head,
      {{"vocabulary", Head::vocabulary}, {"sequence", Head::sequence}, {"token", Head::token}},
      "what the model ends in: logits over the vocabulary, or model.labels numbers a sequence or a "
      "token");
  options.add("model.labels", c.labels, "outputs of model.head sequence and token");
  options.add("model.tie_embeddings", c.tie_embeddings, "output weights are the token embedding");
}

void bind_training(Options& options, ModelConfig& c) {
  options.add("model.dropout", c.dropout, "on embeddings, attention weights and residual branches");
  options.add("model.attention_dropout", c.attention_dropout,
              "on attention weights alone; below 0: model.dropout");
  options.add("model.activation_dropout", c.activation_dropout,
              "within feed-forward layers, on what enters their last product");
  options.add("model.stochastic_depth", c.stochastic_depth,
              "probability that a sample goes past a half block of the last block; it rises "
              "linearly from 0 in the first");
  options.add("model.head_std", c.head_std,
              "deviation of a label or value head's start weights; below 0: model.init_std");
  options.add("model.mup_base_width", c.mup_base_width,
              "model.d_model of the smaller model whose learning rate this one takes over (muP); "
              "0: no muP");
  options.add("model.mup_base_head", c.mup_base_head,
              "width of that model's heads; 0: as wide as here, more of them");
  options.add("model.init_std", c.init_std,
              "deviation of start weights; residual outputs get it / sqrt(2 n_layers), a pooler "
              "under model.head=sequence 1 / sqrt(d_model)");
}

}  // namespace

void bind(Options& options, ModelConfig& c) {
  bind_sizes(options, c);
  bind_positions(options, c);
  bind_layers(options, c);
  bind_inputs_and_heads(options, c);
  bind_training(options, c);
  bind(options, c.attention);
  options.add_former("model.window", [&c](int64_t window) {
    take_former_window(window, c.architecture->sees_ahead(), c.attention);
  });
  for (const Architecture* one : architectures()) one->bind(options, c);
}

namespace {

constexpr int64_t kMostParameters = int64_t{1} << 56;

void check_size(const char* key, int64_t value, int64_t most, int64_t least = 1) {
  require(value >= least, "model.{} is {}; it must be at least {}", key, value, least);
  require(value <= most, "model.{} is {}; {} is the most", key, value, most);
}

void check_bounds(const ModelConfig& c) {
  check_size("vocab_size", c.vocab_size, kMostIds, c.architecture->has_vocabulary() ? 1 : 0);
  check_size("context", c.context, kMostIds);
  check_size("d_model", c.d_model, kMostWidth);
  check_size("n_layers", c.n_layers, kMostLayers);
  check_size("n_heads", c.n_heads, kMostHeadWidths);
  check_size("n_kv_heads", c.n_kv_heads, kMostHeadWidths, 0);
  check_size("d_head", c.d_head, kMostHeadWidths, 0);
  check_size("d_ff", c.d_ff, kMostHidden, 0);
  check_size("position_offset", c.position_offset, kMostIds, 0);
  check_size("token_types", c.token_types, kMostIds, 0);
  check_size("labels", c.labels, kMostIds, 0);
  check_size("rope_context", c.rope_context, kMostIds);
  check_size("score_width", c.score_width, kMostHeadWidths, 0);
  const int64_t heads = std::max(c.n_heads, c.kv_heads());
  require(heads <= kMostHeadWidths / std::max<int64_t>(1, c.head_width()),
          "model.n_heads={}, model.n_kv_heads={} and a head width of {} (model.d_head) make {} "
          "numbers a token; {} is the most",
          c.n_heads, c.n_kv_heads, c.head_width(), heads * c.head_width(), kMostHeadWidths);
}

// The other bounds keep the count itself within 64 bits.
void check_parameters(const ModelConfig& c) {
  require(c.parameters() <= kMostParameters,
          "model.vocab_size={}, model.context={}, model.n_layers={}, model.d_model={}, "
          "model.d_ff={} and model.labels={} make {} parameters; {} is the most",
          c.vocab_size, c.context, c.n_layers, c.d_model, c.hidden(), c.labels, c.parameters(),
          kMostParameters);
}

// A usage error for an option that is given to a model of an architecture that has no use for it.
void require_able(const ModelConfig& c, bool given, const std::string& option,
                  bool (*able)(const Architecture&), const char* then = "leave it out") {
  if (!given || able(*c.architecture)) return;
  std::vector<std::string_view> names;
  for (const Architecture* one : architectures())
    if (able(*one)) names.push_back(one->name());
  fail_usage("{} is for model.architecture={}, not {}; {}", option, fmt::join(names, " and "),
             c.architecture->name(), then);
}

bool has_structure(const Architecture& one) { return one.attends_by_structure(); }

// Of the options that an architecture has of its own.
std::map<std::string, std::string> own_values(const Architecture& of, ModelConfig config) {
  return bound_values([&](Options& own) { of.bind(own, config); });
}

// Options that other architectures have and this one has not must be as they begin.
void check_others_options(const ModelConfig& c) {
  static const auto begins = [] {
    std::map<const Architecture*, std::map<std::string, std::string>> made;
    for (const Architecture* one : architectures()) made[one] = own_values(*one, {});
    return made;
  }();
  for (const auto& [other, begin] : begins) {
    if (other == c.architecture) continue;
    for (const auto& [key, value] : own_values(*other, c)) {
      if (value == begin.at(key) || c.architecture->shares(key)) continue;
      std::vector<std::string_view> names;
      for (const Architecture* one : architectures())
        if (one == other || one->shares(key)) names.push_back(one->name());
      fail_usage("{}={} is for model.architecture={}, not {}; leave it out", key, value,
                 fmt::join(names, ", "), c.architecture->name());
    }
  }
}

void check_mup(const ModelConfig& c) {
  require_able(c, c.mup_base_width > 0, fmt::format("model.mup_base_width={}", c.mup_base_width),
               [](const Architecture& one) { return one.scales_by_mup(); });
  require(c.mup_base_width >= 0 && c.mup_base_head >= 0,
          "model.mup_base_width={} and model.mup_base_head={} must not be negative",
          c.mup_base_width, c.mup_base_head);
  require(c.mup_base_head == 0 || c.mup_base_width > 0,
          "model.mup_base_head={} belongs to muP; give model.mup_base_width, the base model's "
          "model.d_model, with it",
          c.mup_base_head);
  require(c.score_width == 0 || c.mup_base_width == 0,
          "model.score_width={} and model.mup_base_width={} both say what scores are divided by; "
          "leave one of them out",
          c.score_width, c.mup_base_width);
}

// How attention and feed-forward layer of a block are made of their parts.
void check_layout(const ModelConfig& c) {
  const bool plain = c.attention_out_bias && !c.qk_norm && !c.parallel_blocks;
  require_able(c, !plain,
               fmt::format("attention with model.attention_out_bias={}, model.qk_norm={} and "
                           "model.parallel_blocks={}",
                           c.attention_out_bias, c.qk_norm, c.parallel_blocks),
               has_structure, "leave them out");
  require_able(c, c.score_width > 0, fmt::format("model.score_width={}", c.score_width),
               has_structure);
  require_able(
      c, c.norm_placement == NormPlacement::sandwich, "model.norm_placement=sandwich",
      [](const Architecture& one) { return one.attends_by_structure() && !one.sees_ahead(); },
      "give pre or post");
  require(c.attention_out_bias || c.bias || c.attention_bias,
          "model.attention_out_bias=false takes away a bias that attention has with model.bias or "
          "model.attention_bias; give one of them, or leave it out");
  require(!c.qk_norm || !c.attention.has(SightKind::lsh),
          "model.qk_norm=true has norms of queries and of keys, which are one with "
          "attention.kind=lsh; leave it out");
  require(!c.qk_norm || !c.architecture->sees_ahead() || !c.attention.has(SightKind::global),
          "model.qk_norm=true has no norm for the further queries and keys of an encoder with "
          "attention.kind=global; leave it out");
  require(!c.parallel_blocks || c.norm_placement == NormPlacement::pre,
          "model.parallel_blocks=true needs model.norm_placement=pre");
}

void check_attention(const ModelConfig& c) {
  check(c.attention, !c.architecture->sees_ahead(), c.context, c.vocab_size);
  require_able(c, !c.attention.is_full(),
               fmt::format("attention.kind={}", fmt::join(c.attention.kinds, ",")), has_structure);
  require(
      !c.attention.has(SightKind::lsh) || c.kv_heads() == c.n_heads,
      "attention.kind=lsh makes keys of queries, so model.n_kv_heads={} must be model.n_heads={}; "
      "leave it out",
      c.n_kv_heads, c.n_heads);
  check_layout(c);
}

void check_dropout(const ModelConfig& c) {
  require(c.dropout >= 0 && c.dropout < 1, "model.dropout is {}; it must be in [0, 1)", c.dropout);
  require(c.attention_dropout < 1, "model.attention_dropout is {}; it must be below 1",
          c.attention_dropout);
  require(c.activation_dropout >= 0 && c.activation_dropout < 1,
          "model.activation_dropout is {}; it must be in [0, 1)", c.activation_dropout);
  require(c.stochastic_depth >= 0 && c.stochastic_depth < 1,
          "model.stochastic_depth is {}; it must be in [0, 1)", c.stochastic_depth);
}

void check_sizes(const ModelConfig& c) {
  check_bounds(c);
  require(c.d_head > 0 || c.d_model % c.n_heads == 0,
          "model.d_model={} does not divide by model.n_heads={}; change one of them or give "
          "model.d_head",
          c.d_model, c.n_heads);
  require(c.n_kv_heads >= 0 && c.n_heads % c.kv_heads() == 0,
          "model.n_heads={} is not a multiple of model.n_kv_heads={}", c.n_heads, c.n_kv_heads);
  check_rotary(c);
  require(c.positions == Positions::sinusoidal || c.sinusoids == kernels::Sinusoid::halves,
          "model.sinusoids=pairs lays out sinusoidal positions; give model.positions=sinusoidal "
          "with it");
  require(c.positions != Positions::distance || c.architecture->biases_by_distance(),
          "model.positions=distance is not for model.architecture={}; give learned, sinusoidal or "
          "rotary",
          c.architecture->name());
  require(c.head == Head::vocabulary || c.labels > 0,
          "model.head gives labels, but model.labels is 0; give their number");
  check_attention(c);
  c.architecture->check(c);
  check_others_options(c);
  require(c.norm_epsilon >= 0, "model.norm_epsilon is {}; it must not be negative", c.norm_epsilon);
  check_dropout(c);
  check_mup(c);
  require(c.init_std >= 0, "model.init_std is {}; it must not be negative", c.init_std);
  check_parameters(c);
}

}  // namespace

void check(const ModelConfig& c, int tp, bool sequence_parallel) {
  check_sizes(c);
  require(c.n_heads % tp == 0, "model.n_heads={} does not divide by parallel.tensor={}", c.n_heads,
          tp);
  require(c.kv_heads() % tp == 0,
          "model.n_kv_heads={} does not divide by parallel.tensor={}; use at most {} "
          "tensor-parallel ranks, or more key heads",
          c.kv_heads(), tp, c.kv_heads());
  require(c.hidden() % tp == 0, "model.d_ff={} does not divide by parallel.tensor={}", c.hidden(),
          tp);
  require(!sequence_parallel || c.architecture->reads() == Reads::texts,
          "parallel.sequence is for models that read texts, and model.architecture={} reads {}; "
          "leave it out",
          c.architecture->name(), name_of(c.architecture->reads()));
  require(!sequence_parallel || c.context % tp == 0,
          "parallel.sequence needs model.context={} to divide by parallel.tensor={}", c.context,
          tp);
  require(!sequence_parallel || c.architecture->source_context(c) % tp == 0,
          "parallel.sequence needs model.source_context={} to divide by parallel.tensor={}",
          c.architecture->source_context(c), tp);
}

}  // namespace skein
