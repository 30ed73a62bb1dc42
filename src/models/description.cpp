#include "skein/models/description.h"

#include "skein/models/architecture.h"
#include "skein/nn/cost.h"

namespace skein {

ModelPiece whole_piece(const ModelConfig& config) {
  return {0, static_cast<int>(config.n_layers), true, true, 0};
}

void describe(const ModelConfig& config, const ModelPiece& piece, Parameters& parameters) {
  config.architecture->piece(config, piece, false, parameters);
}

TensorShapes tensor_shapes(const ModelConfig& config, const ModelPiece& piece) {
  Parameters parameters(DType::f32, 0, 1);
  describe(config, piece, parameters);
  TensorShapes made;
  for (const Parameter& parameter : parameters.all())
    if (!parameter.tied()) made[parameter.name] = parameter.shape.dims();
  return made;
}

int64_t ModelConfig::parameters() const {
  Parameters all(DType::f32, 0, 1);
  describe(*this, whole_piece(*this), all);
  return learned_numbers(all);
}

}  // namespace skein
