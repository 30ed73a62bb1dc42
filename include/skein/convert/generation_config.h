// generation_config.json of Hugging Face's transformers: what a decoder is fed first, and what ends
// its answers.
#pragma once

#include <string>

#include "skein/convert/huggingface_config.h"

namespace skein::convert {

inline constexpr char kGenerationConfig[] = "generation_config.json";

// The id that the decoder of a model that maps sources to targets is fed first, as transformers
// decides it: by generation_config.json (its text; "": there is none), config.json, the class of
// the model, or the token that begins texts. -1 where nothing says it, and for other models. A
// usage error naming a file of `folder` for an id that is none of the model's.
int32_t foreign_start(const std::string& config, const std::string& generation,
                      const std::string& folder, const ModelConfig& model);

// The file for a model that writes text: special ids, of which those that end an answer may be two
// (a text's and a turn's), and max_length, the longest text [tokens] or, of models that map
// sources, the longest answer: model.context. With `before`, the text that it was imported with:
// that text, with those ids that are known otherwise now; ids that end answers besides, and
// lengths, stay.
std::string generation_config(const ModelConfig& model, const SpecialIds& ids,
                              const std::string& before);

}  // namespace skein::convert
