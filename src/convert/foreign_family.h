// What the engine asks of a family of models that Hugging Face folders hold. A family is a source
// of families/ and a line of families.cpp; the engine knows none by name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "foreign_config.h"

namespace skein::convert {

// Of a family's files on a model.
struct Demand {
  bool met;
  std::string option;  // that would meet it
};

struct ForeignFamily {
  std::string name;  // as config.json's model_type says it
  std::string stem;  // with which transformers' names of classes begin, "GPT2"
  // How those of them go on that have logits over the vocabulary, or say hidden patches. The first
  // is written. None: classifiers of pictures.
  std::vector<std::string> vocabulary_classes;
  const Architecture& architecture;

  // Beside the architecture.
  std::vector<Demand> (*demands)(const ModelConfig&);
  // Of a model that meets them.
  NameMap (*names)(const ModelConfig&);
  // What config.json says beside classes, vocabulary, ties and the deviation of start values. A
  // model that is read has its architecture, its head and these; one that is written meets the
  // demands and is written_out.
  void (*keys)(ForeignConfig&, ModelConfig&);

  // That config.json may have besides for what `keys` writes.
  std::vector<std::string> aliases = {};
  bool ties_embeddings = true;  // where config.json does not say
  // The key of the deviation of start values; "" where there is none.
  std::string deviation = "initializer_range";
  // What its decoder is fed first where nothing says so; -1: nothing.
  int32_t start = -1;
  // Whether transformers' class ends the longest answers with a token of its own choice, unless
  // config.json says that it does not.
  bool forces_end = false;
  // How the names of its classes go on that classify sequences, and that have no head.
  std::string sequence_class = "ForSequenceClassification", bare_class = "Model";
};

std::span<const ForeignFamily* const> foreign_families();
// That of a config.json's model_type. A usage error naming `origin` where there is none.
const ForeignFamily& family_named(const std::string& type, const std::string& origin);

// The family whose files can hold such a model: that of `type`, the model_type of what it was
// imported from, where that can. A usage error that says, for each family, which option keeps it
// out.
const ForeignFamily& family_of(const ModelConfig& config, const std::string& type);

}  // namespace skein::convert
