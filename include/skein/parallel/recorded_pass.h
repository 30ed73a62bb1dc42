// Forward and backward of a micro-batch as one graph on a GPU, recorded once: the host queues one
// thing instead of hundreds. For a model whole on its rank, with fixed shapes and without dropout,
// whose keys change from step to step.
#pragma once

#include <functional>
#include <memory>

#include "skein/data/samples/batch.h"
#include "skein/tensor/cuda.h"

namespace skein {

class RecordedPass {
 public:
  // Does forward and backward of a batch on the device, and gives its rows' losses.
  using Work = std::function<Tensor(const Batch& batch, const Tensor& row_weights)>;

  // batch and row_weights [B*T], which are copied to where the graph reads them, on the device
  // already. The first call runs the work, the second records it; batches of another shape than the
  // first's run as they are.
  Tensor run(const Batch& batch, const Tensor& row_weights, const Work& work);

 private:
  std::unique_ptr<cuda::Recording> recording_;
  Batch batch_;  // what the graph reads
  Tensor row_weights_;
  Tensor losses_;  // what it leaves
};

}  // namespace skein
