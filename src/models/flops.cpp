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

double model_flops_per_token(const ModelConfig& model, int64_t length, AttentionCount count) {
  double sum = 0;
  for (const auto& [block, own] : flops_by_block(model, length, count)) sum += own;
  return sum;
}

}  // namespace skein
