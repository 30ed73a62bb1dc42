// Checkpoints as files of GGUF, which are read back.
#pragma once

#include <cstring>

#include "convert/fresh_run.h"
#include "support/gguf_file.h"

namespace skein::convert {

using test::GgufFile;
using test::Scratch;

// Of bytes, though few of them.
inline constexpr char kTokenizer[] = R"({"version": "1.0", "added_tokens": [
    {"id": 0, "content": "<|endoftext|>", "special": true, "normalized": false},
    {"id": 7, "content": "<|im_start|>", "special": true, "normalized": false},
    {"id": 8, "content": "<|im_end|>", "special": true, "normalized": false},
    {"id": 9, "content": "added", "special": false, "normalized": false}],
  "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": null, "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE", "vocab": {"<|endoftext|>": 0, "a": 1, "b": 2, "c": 3, "\u0120": 4, "ab": 5, "\u0120ab": 6},
    "merges": [["a", "b"], ["\u0120", "ab"]]}})";

inline text::StoredTokenizer tokenizer_of(const std::string& json) {
  return text::StoredTokenizer(text::tokenizer_from_json(json)->to_json());
}

inline GgufFile read_file(const std::string& path) { return GgufFile(test::bytes_of_file(path)); }

inline GgufFile exported(const std::string& run, const std::string& path,
                         const ConvertConfig& config = {}) {
  test::export_folder(run, path, config, Form::gguf);
  return read_file(path);
}

inline train::RunState state_with(const std::string& tokenizer, const std::string& notes = "") {
  train::RunState state;
  state.step = 1;
  state.tokenizer = tokenizer_of(tokenizer);
  if (!notes.empty()) state.notes = train::TaskNotes(notes);
  return state;
}

inline std::vector<float> floats_of(const std::string& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// The elements of a tensor of a checkpoint.
inline std::vector<float> weights_of(const std::string& run, const std::string& name) {
  const std::string all = test::tensors_of(run).at("param/" + name);
  return floats_of(all.substr(all.find(']') + 1));
}

inline ModelConfig wide_llama() {
  ModelConfig c = test::small_model();
  c.positions = Positions::rotary;
  c.norm = ops::Norm::rms;
  c.activation = MlpKind::swiglu;
  c.d_model = 64;
  c.d_ff = 40;
  c.n_kv_heads = 2;
  c.bias = false;
  c.attention_bias = true;
  c.tie_embeddings = false;
  c.rope_scaling = RopeScaling::llama3;
  c.rope_factor = 8;
  c.rope_context = 32;
  return c;
}

inline void expect_refused(const ModelConfig& model, const train::RunState& state,
                           std::initializer_list<std::string> words) {
  const Scratch scratch;
  test::save_fresh(scratch.file("run"), model, 1, state);
  test::expect_error(ExitCode::usage, words,
                     [&] { exported(scratch.file("run"), scratch.file("no.gguf")); });
  EXPECT_FALSE(std::filesystem::exists(scratch.file("no.gguf")));
  EXPECT_FALSE(std::filesystem::exists(scratch.file("no.Modelfile")));
}

}  // namespace skein::convert
