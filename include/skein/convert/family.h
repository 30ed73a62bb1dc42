// The families of models that other programs' files may hold.
#pragma once

#include <string>

#include "skein/models/config.h"

namespace skein {

enum class Family { gpt2, llama, bert, roberta };

// "gpt2", as config.json's model_type says it.
std::string name_of(Family family);

// The family whose files can hold such a model. A usage error that says, for each family, which option keeps it out.
Family family_of(const ModelConfig& config);

}  // namespace skein
