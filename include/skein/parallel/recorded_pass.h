// Forward and backward of a micro-batch as one graph on a GPU, recorded once: the host queues one
// thing instead of hundreds. The model must be whole on its rank and its shapes fixed, and it must
// have no dropout: the recording would repeat the masks of one step.
#pragma once

#include <functional>
#include <memory>

#include "skein/data/samples/batch.h"
#include "skein/tensor/cuda.h"

namespace skein {

class RecordedPass {
 public:
  // Does forward and backward of a batch on the device, and gives its rows' losses.
  using Work = std::function<Tensor(const data::Batch& batch, const Tensor& row_weights)>;

  // Runs the work on a batch, with row_weights [B*T]. Both are on the device already and are copied
  // to where the graph reads them. The first calls run the work, and once one of them found all its
  // memory there the next one records it. A batch whose shapes are not those of the first runs
  // without the graph.
  Tensor run(const data::Batch& batch, const Tensor& row_weights, const Work& work);

 private:
  std::unique_ptr<cuda::Recording> recording_;
  data::Batch batch_;  // what the graph reads
  Tensor row_weights_;
  Tensor losses_;  // what it leaves
};

}  // namespace skein
