#include "skein/models/model.h"

namespace skein {

Tensor row_weights_of(const Tensor& weights, double scale, const Tensor& like) {
  const Tensor made = Tensor::empty({weights.size()}, gradient_dtype(like.dtype()));
  const float* weight = weights.data<float>();
  visit_float(made.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    T* to = made.data<T>();
    for (int64_t i = 0; i < made.size(); ++i)
      to[i] = static_cast<T>(static_cast<A>(weight[i]) * static_cast<A>(scale));
  });
  return made.to(like.device());
}

}  // namespace skein
