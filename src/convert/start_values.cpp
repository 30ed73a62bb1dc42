#include "start_values.h"

#include "skein/models/description.h"

#include "elements.h"

namespace skein {

WholeModel::WholeModel(const ModelConfig& config) : parameters_(DType::f32, 0, 1) {
  describe(config, whole_piece(config), parameters_);
}

void WholeModel::start(const std::string& name, int64_t begin, int64_t end, uint64_t seed,
                       DType dtype, std::byte* out) {
  Parameter* parameter = parameters_.find(name);
  SKEIN_CHECK(parameter != nullptr);
  parameter->value = Tensor::zeros(parameter->local, DType::f32);
  initialize(*parameter, seed);
  convert_elements(DType::f32, parameter->value.bytes_data() + begin * size_of(DType::f32), dtype,
                   out, end - begin);
  parameter->value = {};
}

}  // namespace skein
