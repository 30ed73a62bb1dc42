// generation_config.json of Hugging Face's transformers: how answers begin and end.
#pragma once

#include <string>

#include "skein/convert/huggingface_config.h"

namespace skein::convert {

inline constexpr char kGenerationConfig[] = "generation_config.json";

// What the files of a model that maps sources to targets say of its answers, as transformers
// decides it: generation_config.json alone where it is there (its text, else ""), with config.json
// for what the decoder is fed first. A usage error naming a file of `folder` for ids that are none
// of the model's; a warning for banned words of several tokens, which are not taken over.
train::AnswerForm foreign_answers(const std::string& config, const std::string& generation,
                                  const std::string& folder, const ModelConfig& model);

// The file for such a model. With `before`, the text that it was imported with: with what `extras`
// say otherwise; that text where they say nothing else.
std::string generation_config(const ConfigExtras& extras, const std::string& before);

}  // namespace skein::convert
