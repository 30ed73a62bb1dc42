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

// Block by block, for a configuration that anybody may have written can name very many.
int64_t ModelConfig::parameters() const {
  const auto numbers_of = [this](const ModelPiece& piece) {
    Parameters parameters(DType::f32, 0, 1);
    describe(*this, piece, parameters);
    return learned_numbers(parameters);
  };
  const auto last = static_cast<int>(n_layers);
  int64_t sum = numbers_of({0, 0, true, false, 0}) + numbers_of({last, last, false, true, 0});
  for (int block = 0; block < last; ++block) sum += numbers_of({block, block + 1, false, false, 0});
  return sum;
}

}  // namespace skein
