#include "skein/models/memory.h"

namespace skein {

double activation_bytes(const ModelConfig& m, const ActivationShape& shape) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double ranks = shape.tensor, stream = number(m.d_model) / (shape.sequence ? ranks : 1);
  const double matrices = m.activation == MlpKind::swiglu ? 3 : 2;
  const double divided =
      2 * number(m.head_width()) * number(m.n_heads + m.kv_heads()) + matrices * number(m.hidden());
  const double whole = 4 * stream + divided / ranks;
  const double element = number(shape.tokens) * number(size_of(shape.dtype)),
               layers = number(shape.layers);
  switch (shape.recompute) {
    case Recompute::none: return element * layers * whole;
    case Recompute::selective: return element * (layers * 2 * stream + whole);
    case Recompute::full: return element * (layers * stream + whole);
  }
  return 0;
}

}  // namespace skein
