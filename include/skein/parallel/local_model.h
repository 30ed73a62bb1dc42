// The pieces of a model that this rank holds at a layout.
#pragma once

#include <memory>
#include <vector>

#include "skein/models/gpt/gpt.h"
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
  // The last piece of a GPT that predicts tokens; null elsewhere.
  const Gpt* decoder() const { return decoder_; }
  // The last piece of a model that gives labels; null elsewhere.
  const Labelled* labelled() const { return labelled_; }
  // What it learns, on the last stage; by itself a model learns what its head is for. Before
  // pipeline_model().
  void learn(std::unique_ptr<Objective> objective) { objective_ = std::move(objective); }
  // Numbers of the blocks held here.
  const std::vector<int>& blocks() const { return blocks_; }
  PipelineModel pipeline_model() const;
  // A pass over this model, without batch, step and seed.
  Pass pass() const;

 private:
  void add_gpt(const ModelConfig& config, const ModelPiece& piece);
  void add_bert(const ModelConfig& config, const ModelPiece& piece);

  Mesh& mesh_;
  ParallelConfig parallel_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Model>> pieces_;
  const Gpt* decoder_ = nullptr;
  const Labelled* labelled_ = nullptr;
  std::vector<int> blocks_;
  int first_learning_ = 0;
  std::unique_ptr<Objective> objective_;
};

}  // namespace skein
