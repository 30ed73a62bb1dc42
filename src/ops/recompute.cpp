#include "skein/ops/recompute.h"

namespace skein::ops {

Var recompute(const Var& x, std::function<Var(const Var&)> function) {
  if (!recording()) return function(x);
  Tensor value;
  {
    const NoGrad no_grad;
    value = function(x).value();
  }
  return record(value, {x}, true, [x, function = std::move(function)](const Tensor& dy) {
    const Grad recorded;
    const Var input = Var::leaf(x.value());
    backward(function(input), dy);
    x.add_gradient(input.gradient());
  });
}

}  // namespace skein::ops
