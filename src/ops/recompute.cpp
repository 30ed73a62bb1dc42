#include "skein/ops/recompute.h"

#include "checks.h"

namespace skein::ops {
namespace {

// The inputs at the beginning of a graph of their own.
std::vector<Var> cut_off(const std::vector<Var>& inputs) {
  std::vector<Var> made;
  for (const Var& input : inputs)
    made.push_back(input.needs_gradient() ? Var::leaf(input.value()) : input);
  return made;
}

}  // namespace

Var recompute(const std::vector<Var>& inputs,
              std::function<Var(const std::vector<Var>&)> function) {
  if (!recording()) return function(inputs);
  Tensor value;
  {
    const NoGrad no_grad;
    value = function(inputs).value();
  }
  check_operands("recompute", {{"the function's result", "...", value}});
  return record(value, inputs, true, [inputs, function = std::move(function)](const Tensor& dy) {
    const Grad recorded;
    const std::vector<Var> own = cut_off(inputs);
    const Var again = function(own);
    check(again.shape() == dy.shape(),
          "recompute: the function gave {} first and {} when run again", dy.shape(), again.shape());
    if (again.needs_gradient()) backward(again, dy);
    for (size_t i = 0; i < inputs.size(); ++i)
      if (own[i].needs_gradient() && own[i].gradient().defined())
        inputs[i].add_gradient(own[i].gradient());
  });
}

Var one_use(const Var& x) {
  if (!x.needs_gradient()) return x;
  return record(x.value(), {x}, false, [x](const Tensor& dy) { x.add_gradient(dy); });
}

}  // namespace skein::ops
