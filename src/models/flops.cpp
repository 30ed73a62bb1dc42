#include "skein/models/flops.h"

#include "skein/models/architecture.h"

namespace skein {
namespace {

double number(int64_t value) { return static_cast<double>(value); }

}  // namespace

double block_flops_per_token(const ModelConfig& m, int64_t length, AttentionCount count) {
  const double width = number(m.d_model), heads = number(m.n_heads) * number(m.head_width());
  const double keys = number(m.kv_heads()) * number(m.head_width());
  const double matrices = m.activation == MlpKind::swiglu ? 3 : 2;
  const double products =
      width * (heads + 2 * keys) + heads * width + matrices * width * number(m.hidden());
  const bool half = count == AttentionCount::half && !m.architecture->sees_ahead();
  return 6 * products + (half ? 6 : 12) * heads * number(length);
}

double head_flops_per_token(const ModelConfig& m) {
  return m.architecture->head_flops_per_token(m);
}

double model_flops_per_token(const ModelConfig& m, int64_t length, AttentionCount count) {
  return number(m.n_layers) * block_flops_per_token(m, length, count) + head_flops_per_token(m);
}

}  // namespace skein
