#include "skein/convert/names.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"
#include "skein/models/bert/bert.h"

namespace skein {
namespace {

using Dims = std::vector<int64_t>;

// Collects the names of one model.
class Collector {
 public:
  Collector(const ModelConfig& config, std::string prefix) : c(config) {
    map_.prefix = std::move(prefix);
  }

  // Theirs and ours of one shape.
  void same(const std::string& theirs, const std::string& ours, Dims shape) {
    map_.tensors.push_back({theirs, {}, shape, false, {{ours, shape}}});
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
  // GPT-2's Conv1D: [inputs, outputs]; several of our layers of [outputs, inputs] side by side.
  void conv1d(const std::string& theirs, const std::vector<std::string>& ours, int64_t outputs,
              int64_t inputs) {
    const int64_t whole = outputs * static_cast<int64_t>(ours.size());
    ForeignTensor weight{theirs + ".weight", {}, {inputs, whole}, true, {}},
        bias{theirs + ".bias", {}, {whole}, false, {}};
    for (const std::string& name : ours) {
      weight.parts.push_back({name + ".weight", {outputs, inputs}});
      bias.parts.push_back({name + ".bias", {outputs}});
    }
    map_.tensors.push_back(std::move(weight));
    map_.tensors.push_back(std::move(bias));
  }
  void second_use(const std::string& name, const std::string& of) {
    map_.second_uses.push_back({name, of});
  }
  void copy(const std::string& name, const std::string& of) {
    map_.copies.push_back({name, of});
    buffer(name);
  }
  void buffer(const std::string& name) { map_.buffers.push_back(name); }
  NameMap take() { return std::move(map_); }
  ForeignTensor& last() { return map_.tensors.back(); }

  const ModelConfig& c;

 private:
  NameMap map_;
};

std::string numbered(const std::string& prefix, int64_t i) { return prefix + std::to_string(i); }

// The head of a decoder: tied or its own logits, or a score without bias.
void decoder_head(Collector& names, const std::string& tokens) {
  const ModelConfig& c = names.c;
  if (c.head == Head::sequence)
    names.same("score.weight", "classifier.weight", {c.labels, c.d_model});
  else if (c.tie_embeddings)
    names.second_use("lm_head.weight", tokens);
  else
    names.same("lm_head.weight", "head.weight", {c.vocab_size, c.d_model});
}

NameMap gpt2_names(const ModelConfig& c) {
  Collector names(c, "transformer.");
  const std::string base = "transformer.";
  names.same(base + "wte.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  names.same(base + "wpe.weight", "embedding.positions.weight", {c.context, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i) {
    const std::string theirs = numbered(base + "h.", i), ours = numbered("block.", i);
    names.layer_norm(theirs + ".ln_1", ours + ".norm_1");
    names.conv1d(theirs + ".attn.c_attn",
                 {ours + ".attention.q", ours + ".attention.k", ours + ".attention.v"}, c.d_model,
                 c.d_model);
    names.conv1d(theirs + ".attn.c_proj", {ours + ".attention.out"}, c.d_model, c.d_model);
    names.layer_norm(theirs + ".ln_2", ours + ".norm_2");
    names.conv1d(theirs + ".mlp.c_fc", {ours + ".mlp.up"}, c.hidden(), c.d_model);
    names.conv1d(theirs + ".mlp.c_proj", {ours + ".mlp.down"}, c.d_model, c.hidden());
  }
  names.layer_norm(base + "ln_f", "final_norm");
  decoder_head(names, base + "wte.weight");
  names.buffer(base + "h.*.attn.bias");
  names.buffer(base + "h.*.attn.masked_bias");
  return names.take();
}

NameMap llama_names(const ModelConfig& c) {
  Collector names(c, "model.");
  const int64_t queries = c.n_heads * c.head_width(), keys = c.kv_heads() * c.head_width();
  const bool attention_bias = c.bias || c.attention_bias;
  names.same("model.embed_tokens.weight", "embedding.tokens.weight", {c.vocab_size, c.d_model});
  for (int64_t i = 0; i < c.n_layers; ++i) {
    const std::string theirs = numbered("model.layers.", i), ours = numbered("block.", i),
                      attention = theirs + ".self_attn.";
    names.linear(attention + "q_proj", ours + ".attention.q", queries, c.d_model, attention_bias);
    names.linear(attention + "k_proj", ours + ".attention.k", keys, c.d_model, attention_bias);
    names.linear(attention + "v_proj", ours + ".attention.v", keys, c.d_model, attention_bias);
    names.linear(attention + "o_proj", ours + ".attention.out", c.d_model, queries, attention_bias);
    names.linear(theirs + ".mlp.gate_proj", ours + ".mlp.gate", c.hidden(), c.d_model, c.bias);
    names.linear(theirs + ".mlp.up_proj", ours + ".mlp.up", c.hidden(), c.d_model, c.bias);
    names.linear(theirs + ".mlp.down_proj", ours + ".mlp.down", c.d_model, c.hidden(), c.bias);
    names.same(theirs + ".input_layernorm.weight", ours + ".norm_1.gain", {c.d_model});
    names.same(theirs + ".post_attention_layernorm.weight", ours + ".norm_2.gain", {c.d_model});
  }
  names.same("model.norm.weight", "final_norm.gain", {c.d_model});
  decoder_head(names, "model.embed_tokens.weight");
  names.buffer("model.layers.*.self_attn.rotary_emb.inv_freq");
  return names.take();
}

void bert_embeddings(Collector& names, const std::string& base) {
  const ModelConfig& c = names.c;
  names.same(base + "embeddings.word_embeddings.weight", "embedding.tokens.weight",
             {c.vocab_size, c.d_model});
  names.same(base + "embeddings.position_embeddings.weight", "embedding.positions.weight",
             {c.context + c.position_offset, c.d_model});
  names.same(base + "embeddings.token_type_embeddings.weight", "embedding.types.weight",
             {c.token_types, c.d_model});
  names.layer_norm(base + "embeddings.LayerNorm", "embedding.norm");
}

void bert_blocks(Collector& names, const std::string& base) {
  const ModelConfig& c = names.c;
  for (int64_t i = 0; i < c.n_layers; ++i) {
    const std::string theirs = numbered(base + "encoder.layer.", i), ours = numbered("block.", i);
    names.linear(theirs + ".attention.self.query", ours + ".attention.q", c.d_model, c.d_model,
                 true);
    names.linear(theirs + ".attention.self.key", ours + ".attention.k", c.d_model, c.d_model, true);
    names.linear(theirs + ".attention.self.value", ours + ".attention.v", c.d_model, c.d_model,
                 true);
    names.linear(theirs + ".attention.output.dense", ours + ".attention.out", c.d_model, c.d_model,
                 true);
    names.layer_norm(theirs + ".attention.output.LayerNorm", ours + ".norm_1");
    names.linear(theirs + ".intermediate.dense", ours + ".mlp.up", c.hidden(), c.d_model, true);
    names.linear(theirs + ".output.dense", ours + ".mlp.down", c.d_model, c.hidden(), true);
    names.layer_norm(theirs + ".output.LayerNorm", ours + ".norm_2");
  }
}

// What turns features into logits over the vocabulary; `bias` is the name beside the decoder's own.
// Where weights are tied, the decoder's is only another name of it. Else transformers 5 adds the
// decoder's and never reads the other one, while to transformers 4 they are one.
void vocabulary_head(Collector& names, const std::string& tokens, const std::string& dense,
                     const std::string& norm, const std::string& decoder, const std::string& bias) {
  const ModelConfig& c = names.c;
  const std::string of_decoder = decoder + ".bias";
  names.same(c.tie_embeddings ? bias : of_decoder, "head.bias", {c.vocab_size});
  names.last().other_names = {c.tie_embeddings ? of_decoder : bias};
  if (c.tie_embeddings)
    names.second_use(of_decoder, bias);
  else
    names.copy(bias, of_decoder);
  names.linear(dense, "head.dense", c.d_model, c.d_model, true);
  names.layer_norm(norm, "head.norm");
  if (c.tie_embeddings)
    names.second_use(decoder + ".weight", tokens);
  else
    names.same(decoder + ".weight", "head.weight", {c.vocab_size, c.d_model});
}

NameMap bert_names(const ModelConfig& c) {
  Collector names(c, "bert.");
  bert_embeddings(names, "bert.");
  bert_blocks(names, "bert.");
  if (bert_options(c).pooler)
    names.linear("bert.pooler.dense", "pooler", c.d_model, c.d_model, true);
  if (c.head == Head::vocabulary) {
    vocabulary_head(names, "bert.embeddings.word_embeddings.weight",
                    "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
                    "cls.predictions.decoder", "cls.predictions.bias");
    if (bert_options(c).pooler) names.linear("cls.seq_relationship", "pair", 2, c.d_model, true);
  } else {
    names.linear("classifier", "classifier", c.labels, c.d_model, true);
  }
  names.buffer("bert.embeddings.position_ids");
  names.buffer("bert.embeddings.token_type_ids");
  return names.take();
}

NameMap roberta_names(const ModelConfig& c) {
  Collector names(c, "roberta.");
  bert_embeddings(names, "roberta.");
  bert_blocks(names, "roberta.");
  if (c.head == Head::vocabulary) {
    vocabulary_head(names, "roberta.embeddings.word_embeddings.weight", "lm_head.dense",
                    "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias");
  } else if (c.head == Head::sequence) {
    names.linear("classifier.dense", "pooler", c.d_model, c.d_model, true);
    names.linear("classifier.out_proj", "classifier", c.labels, c.d_model, true);
  } else {
    names.linear("classifier", "classifier", c.labels, c.d_model, true);
  }
  names.buffer("roberta.embeddings.position_ids");
  names.buffer("roberta.embeddings.token_type_ids");
  return names.take();
}

// The sizes of a checked model have products of 64 bits.
int64_t product(const Dims& dims) {
  const auto made = checked_product(dims);
  SKEIN_CHECK(made.has_value());
  return *made;
}

// "h.*.attn.bias" of "h.12.attn.bias".
bool matches(const std::string& name, const std::string& pattern) {
  const size_t star = pattern.find('*');
  if (star == std::string::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  const size_t behind = name.find_first_not_of("0123456789", star);
  return behind != star && behind != std::string::npos &&
         name.substr(behind) == pattern.substr(star + 1);
}

}  // namespace

int64_t OurTensor::size() const { return product(shape); }

int64_t ForeignTensor::size() const { return product(shape); }

bool NameMap::is_buffer(const std::string& name) const {
  return std::any_of(buffers.begin(), buffers.end(), [&](const std::string& pattern) {
    return matches(name, pattern) ||
           (pattern.starts_with(prefix) && matches(name, pattern.substr(prefix.size())));
  });
}

std::vector<std::string> NameMap::candidates(const std::string& name) const {
  std::vector<std::string> all{name};
  if (name.starts_with(prefix)) all.push_back(name.substr(prefix.size()));
  for (const auto& [now, once] : {std::pair{"LayerNorm.weight", "LayerNorm.gamma"},
                                  std::pair{"LayerNorm.bias", "LayerNorm.beta"}})
    for (size_t i = 0, count = all.size(); i < count; ++i)
      if (all[i].ends_with(now))
        all.push_back(all[i].substr(0, all[i].size() - std::string(now).size()) + once);
  return all;
}

NameMap huggingface_names(const ModelConfig& config) {
  switch (family_of(config)) {
    case Family::gpt2: return gpt2_names(config);
    case Family::llama: return llama_names(config);
    case Family::bert: return bert_names(config);
    case Family::roberta: return roberta_names(config);
  }
  return {};
}

NameMap llmc_names(const ModelConfig& c, int64_t padded_vocab) {
  require(family_of(c) == Family::gpt2 && c.tie_embeddings && c.head == Head::vocabulary &&
              c.hidden() == 4 * c.d_model && c.activation == MlpKind::gelu_tanh &&
              c.norm_epsilon == 1e-5,
          "llm.c's files hold GPT-2 with tied embeddings, gelu_tanh, a feed-forward layer of 4 "
          "model.d_model and model.norm_epsilon=1e-5; this is another model");
  NameMap map;
  const int64_t blocks = c.n_layers, width = c.d_model;
  const auto all_blocks = [&](const std::string& name, Dims shape,
                              const std::vector<std::string>& ours, const Dims& part) {
    ForeignTensor made{name, {}, {blocks}, false, {}};
    made.shape.insert(made.shape.end(), shape.begin(), shape.end());
    for (int64_t i = 0; i < blocks; ++i)
      for (const std::string& one : ours) made.parts.push_back({numbered("block.", i) + one, part});
    map.tensors.push_back(std::move(made));
  };
  map.tensors.push_back({"wte",
                         {},
                         {padded_vocab, width},
                         false,
                         {{"embedding.tokens.weight", {c.vocab_size, width}}}});
  map.tensors.push_back(
      {"wpe", {}, {c.context, width}, false, {{"embedding.positions.weight", {c.context, width}}}});
  all_blocks("ln1w", {width}, {".norm_1.gain"}, {width});
  all_blocks("ln1b", {width}, {".norm_1.bias"}, {width});
  all_blocks("qkvw", {3 * width, width},
             {".attention.q.weight", ".attention.k.weight", ".attention.v.weight"}, {width, width});
  all_blocks("qkvb", {3 * width}, {".attention.q.bias", ".attention.k.bias", ".attention.v.bias"},
             {width});
  all_blocks("attprojw", {width, width}, {".attention.out.weight"}, {width, width});
  all_blocks("attprojb", {width}, {".attention.out.bias"}, {width});
  all_blocks("ln2w", {width}, {".norm_2.gain"}, {width});
  all_blocks("ln2b", {width}, {".norm_2.bias"}, {width});
  all_blocks("fcw", {4 * width, width}, {".mlp.up.weight"}, {4 * width, width});
  all_blocks("fcb", {4 * width}, {".mlp.up.bias"}, {4 * width});
  all_blocks("fcprojw", {width, 4 * width}, {".mlp.down.weight"}, {width, 4 * width});
  all_blocks("fcprojb", {width}, {".mlp.down.bias"}, {width});
  map.tensors.push_back({"lnfw", {}, {width}, false, {{"final_norm.gain", {width}}}});
  map.tensors.push_back({"lnfb", {}, {width}, false, {{"final_norm.bias", {width}}}});
  return map;
}

}  // namespace skein
