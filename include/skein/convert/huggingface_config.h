// config.json of Hugging Face's transformers, and what it says of a model in our words.
#pragma once

#include <map>
#include <set>
#include <string>

#include "skein/convert/family.h"

namespace skein {

// The model of a config.json; `names` are the tensors of its files, which tell whether a BERT has its pooler and the head for
// pairs. A usage error naming `origin` when the text is no such JSON, lacks a size, or asks for what no model here does.
ModelConfig model_from_huggingface(const std::string& text, const std::string& origin, const std::set<std::string>& names);

// Ids that config.json repeats from the tokenizer; -1: none.
struct SpecialIds {
  int32_t pad = -1, bos = -1, eos = -1;
};

// config.json of a model. With `before`, the text that it was once imported with: that text where it still says the same, and
// else that text with what changed, so that keys unknown here stay. `dtype` of most of its tensors.
std::string huggingface_config(const ModelConfig& model, DType dtype, const SpecialIds& ids, const std::string& before);

// Options of a model as text, by key: equal models have equal ones.
std::map<std::string, std::string> model_values(const ModelConfig& model);

}  // namespace skein
