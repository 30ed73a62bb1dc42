// The families of models that other programs' files may hold.
#pragma once

#include <string>

#include "skein/models/config.h"

namespace skein {

enum class Family { gpt2, llama, bert, roberta };

// "gpt2", as config.json's model_type says it.
std::string name_of(Family family);
// "GPT2", with which transformers' names of classes begin, as config.json's architectures has them.
std::string class_stem(Family family);

// The family whose files can hold such a model. A usage error that says, for each family, which
// option keeps it out. transformers' RoBERTa has erf-GELU in the vocabulary head whatever its
// blocks have, its BERT the blocks' activation.
Family family_of(const ModelConfig& config);

}  // namespace skein
