#include "start_values.h"

#include "skein/models/bert/bert.h"
#include "skein/models/gpt/gpt.h"

#include "elements.h"

namespace skein {

WholeModel::WholeModel(const ModelConfig& config) : parameters_(DType::f32, 0, 1) {
  const ModelPiece whole{0, static_cast<int>(config.n_layers), true, true, 0};
  if (config.architecture == Architecture::gpt)
    Gpt(config, whole, false, parameters_);
  else
    Bert(config, whole, false, parameters_);
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
