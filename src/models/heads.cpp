#include "skein/models/heads.h"

#include "skein/ops/linear.h"

namespace skein {

Tensor Predictor::logits(const Tensor& rows) const {
  return ops::linear_sums(rows, head().weight(), head_bias());
}

}  // namespace skein
