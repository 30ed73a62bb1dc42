// What the rest of the house asks of a kind of model. An architecture is a folder of models/ and a
// line in registry.cpp; nobody asks which one a model has, only what it can do.
#pragma once

#include <memory>
#include <string_view>

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

class Architecture {
 public:
  virtual ~Architecture() = default;
  // The word of model.architecture, and what stands for it in --help.
  virtual std::string_view name() const = 0;
  virtual std::string_view help() const = 0;

  // Binds the options that it alone has (ModelConfig::own), under section "model".
  virtual void bind(Options& options, ModelConfig& config) const = 0;
  // Writes out what its options mean where they are not given (ModelConfig::written_out).
  virtual void write_out(ModelConfig&) const {}
  // Usage errors for what a model of it cannot be, beside those that hold for all.
  virtual void check(const ModelConfig& config) const = 0;
  // Usage errors for options of its own where the model is of another architecture.
  virtual void check_unused(const ModelConfig&) const {}
  // The tensors join `parameters`, which outlives the piece.
  virtual std::unique_ptr<Model> piece(const ModelConfig& config, const ModelPiece& piece,
                                       bool sequence_parallel, Parameters& parameters) const = 0;
  // At how many places something is predicted, for each token of a sample: what its FLOPs count.
  virtual double places_per_token(const ModelConfig& config) const = 0;

  // Each token sees those after it, too: a text stands between the tokenizer's marks, and what is
  // said of it is said at its beginning.
  virtual bool sees_ahead() const = 0;
  // Gives logits for the token after the last.
  virtual bool continues_text(const ModelConfig&) const { return false; }
  // Gives logits for tokens that are hidden from it.
  virtual bool fills_masks(const ModelConfig&) const { return false; }
  // Says whether the second part of a text follows the first.
  virtual bool judges_pairs(const ModelConfig&) const { return false; }
  // What it is where it does not continue text: "an encoder".
  virtual std::string_view otherwise(const ModelConfig& config) const = 0;

  // Has the model end in `labels` numbers a sequence or a token.
  virtual void begin_labels(ModelConfig& config, Head head, int64_t labels) const;
  // Has it give a number for each token beside its logits, or not. A usage error where it cannot.
  virtual void give_values(ModelConfig& config, bool values) const;
};

}  // namespace skein
