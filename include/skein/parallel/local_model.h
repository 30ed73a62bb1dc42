// The pieces of a GPT that this rank holds at a layout.
#pragma once

#include <memory>
#include <vector>

#include "skein/models/gpt.h"
#include "skein/parallel/layout.h"
#include "skein/parallel/pipeline.h"

namespace skein {

class LocalModel {
 public:
  // Describes the tensors without giving them memory: Buckets or Parameters::allocate do. Usage errors for a model that
  // does not fit the layout.
  LocalModel(const ModelConfig& config, const ParallelConfig& parallel, Mesh& mesh, DType dtype);

  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  // By chunk: the whole model's piece number is chunk * stages + stage.
  const std::vector<std::unique_ptr<Gpt>>& pieces() const { return pieces_; }
  // Numbers of the blocks held here.
  const std::vector<int>& blocks() const { return blocks_; }
  PipelineModel pipeline_model() const;
  // A pass over this model, without batch, step and seed.
  Pass pass() const;

 private:
  Mesh& mesh_;
  ParallelConfig parallel_;
  Parameters parameters_;
  std::vector<std::unique_ptr<Gpt>> pieces_;
  std::vector<int> blocks_;
  std::unique_ptr<NextToken> objective_;
};

}  // namespace skein
