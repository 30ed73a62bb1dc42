#include "skein/models/flops.h"

#include "skein/models/architecture.h"
#include "skein/models/description.h"
#include "skein/nn/cost.h"

namespace skein {

std::map<int, double> flops_by_block(const ModelConfig& model, int64_t length,
                                     AttentionCount count) {
  Parameters all(DType::f32, 0, 1);
  describe(model, whole_piece(model), all);
  return flops_per_token(all, length, {.places = model.architecture->places_per_token(model)},
                         count == AttentionCount::half ? 0.5 : 1);
}

TokenFlops::TokenFlops(const ModelConfig& model, AttentionCount count) {
  const auto without = flops_by_block(model, 0, count), with_one = flops_by_block(model, 1, count);
  for (const auto& [block, own] : without) {
    products_ += own;
    scores_ += with_one.at(block) - own;
  }
}

double model_flops_per_token(const ModelConfig& model, int64_t length, AttentionCount count) {
  return TokenFlops(model, count)(length);
}

}  // namespace skein
