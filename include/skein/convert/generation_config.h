// generation_config.json of Hugging Face's transformers: here, what a decoder is fed first.
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

// The file for such a model. With `before`, the text that it was imported with: that text, with
// those ids that are known otherwise now.
std::string generation_config(const SpecialIds& ids, const std::string& before);

}  // namespace skein::convert
