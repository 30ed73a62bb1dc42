// Values that training would begin with, for tensors that a file lacks.
#pragma once

#include "skein/models/config.h"
#include "skein/nn/parameter.h"

namespace skein {

// Every tensor of a model, whole, without memory.
class WholeModel {
 public:
  explicit WholeModel(const ModelConfig& config);

  // Elements [begin, end) of the tensor's start values as `dtype` to `out`.
  void start(const std::string& name, int64_t begin, int64_t end, uint64_t seed, DType dtype,
             std::byte* out);

 private:
  Parameters parameters_;
};

}  // namespace skein
