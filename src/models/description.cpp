#include "skein/models/description.h"

#include "skein/models/architecture.h"
#include "skein/nn/cost.h"

namespace skein {

ModelPiece whole_piece(const ModelConfig& config) {
  return {0, static_cast<int>(config.n_layers), true, true, 0};
}

bool is_frozen(const Part& part, int64_t frozen, int64_t blocks) {
  if (frozen < 0) return false;
  if (part.kind == Part::block) return part.block_number < frozen;
  return part.kind == Part::embedding || (frozen == blocks && part.kind == Part::final_norm);
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

namespace {

// Block by block, for a configuration that anybody may have written can name very many.
int64_t numbers_of(const ModelConfig& model,
                   const std::function<bool(const Parameter&)>& counted = {}) {
  const auto of_piece = [&](const ModelPiece& piece) {
    Parameters parameters(DType::f32, 0, 1);
    describe(model, piece, parameters);
    return learned_numbers(parameters, counted);
  };
  const auto last = static_cast<int>(model.n_layers);
  int64_t sum = of_piece({0, 0, true, false, 0}) + of_piece({last, last, false, true, 0});
  for (int block = 0; block < last; ++block) sum += of_piece({block, block + 1, false, false, 0});
  return sum;
}

}  // namespace

int64_t ModelConfig::parameters() const { return numbers_of(*this); }

int64_t frozen_numbers(const ModelConfig& model, int64_t frozen) {
  if (frozen < 0) return 0;
  return numbers_of(model,
                    [&](const Parameter& p) { return is_frozen(p.part, frozen, model.n_layers); });
}

}  // namespace skein
