// The pieces of a model that this rank holds at a layout.
#pragma once

#include <memory>
#include <vector>

#include "skein/models/config.h"
#include "skein/models/model.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/pipeline.h"

namespace skein {

class LocalModel {
 public:
  // Describes the tensors without giving them memory: Buckets or Parameters::allocate do. Usage
  // errors for a model that does not fit the layout. frozen_layers: the embeddings and so many
  // blocks do not learn, with all blocks also the final norm; -1: all learns.
  LocalModel(const ModelConfig& config, const ParallelConfig& parallel, Mesh& mesh, DType dtype,
             int64_t frozen_layers = -1);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  // By chunk: the whole model's piece number is chunk * stages + stage.
  const std::vector<std::unique_ptr<Model>>& pieces() const { return pieces_; }
  // What the last piece can do, where it is held here; null elsewhere, and for what it cannot.
  const Predictor* predictor() const { return last_ ? last_->predictor() : nullptr; }
  const Scorer* scorer() const { return last_ ? last_->scorer() : nullptr; }
  const ValueHead* value_head() const { return last_ ? last_->value_head() : nullptr; }
  // Sets what the model learns, on the last stage. Where nobody calls it the model learns its last
  // piece's own objective. To be called before pipeline_model().
  void learn(std::unique_ptr<Objective> objective) { objective_ = std::move(objective); }
  // Numbers of the blocks held here.
  const std::vector<int>& blocks() const { return blocks_; }
  PipelineModel pipeline_model() const;
  // A pass over this model, without batch, step and seed.
  Pass pass() const;

 private:
  Mesh& mesh_;
  ParallelConfig parallel_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Model>> pieces_;
  const Model* last_ = nullptr;  // of the whole model's pieces
  std::vector<int> blocks_;
  int first_learning_ = 0;
  std::unique_ptr<Objective> objective_;
};

}  // namespace skein
