#include "skein/train/flops.h"

namespace skein {

double model_flops_per_token(const GptConfig& m, int64_t length, AttentionCount count) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double width = number(m.d_model), heads = number(m.n_heads) * number(m.head_width());
  const double keys = number(m.kv_heads()) * number(m.head_width());
  const double matrices = m.activation == MlpKind::swiglu ? 3 : 2;
  const double block = width * (heads + 2 * keys) + heads * width + matrices * width * number(m.hidden());
  const double attention = (count == AttentionCount::half ? 6 : 12) * heads * number(length);
  return number(m.n_layers) * (6 * block + attention) + 6 * width * number(m.vocab_size);
}

}  // namespace skein
