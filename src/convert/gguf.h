// What a GGUF file says of a model and of its tokenizer, in the words of llama.cpp (gguf's
// constants.py and the loader of llama.cpp, release b11739).
#pragma once

#include <string>

#include "skein/convert/names.h"
#include "skein/formats/gguf.h"
#include "skein/text/tokenizer.h"

namespace skein::convert {

// llama.cpp's names of a decoder's tensors; type: the model_type of what it was imported from. A
// usage error where it knows no such model, naming the option in the way. rope_freqs.weight and its
// like hold none of ours: they are gguf_frequencies.
NameMap gguf_names(const ModelConfig& config, const std::string& type);
inline constexpr char kGgufFrequencies[] = "rope_freqs.weight";
bool is_gguf_frequencies(const std::string& name);
// Of rotary positions that are stretched as Llama 3's, or by longrope: by what each frequency is
// divided, one a pair that turns.
std::vector<float> gguf_frequencies(const ModelConfig& config);
// Sizes and numbers of such a model.
formats::GgufValues gguf_model(const ModelConfig& config, const std::string& type);
// The longest text that llama.cpp computes alike: all but its gemma3 knows no windows.
int64_t gguf_context(const ModelConfig& config);

// What a file says of the tokenizer, whose ids are rows of the model's: those that it has no token
// for get names that nothing is encoded as. `rows`: the model's vocab_size. begins: whether plain
// texts get the token at their beginning that the tokenizer's template asks for. A usage error for
// a tokenizer that llama.cpp would not divide texts like.
formats::GgufValues gguf_tokenizer(const text::StoredTokenizer& tokenizer, int64_t rows,
                                   bool begins);

// Ollama's Modelfile beside the file `gguf`. templated: its TEMPLATE, or "" where Ollama finds one
// by itself; stop: a text that ends answers, or "".
struct ModelfileParts {
  std::string gguf, templated, stop;
  bool trims = false;  // the chat template leaves out white space around turns
  int64_t context = 0;
};
std::string modelfile(const ModelfileParts& parts);

}  // namespace skein::convert
