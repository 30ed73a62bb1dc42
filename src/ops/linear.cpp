#include "skein/ops/linear.h"

#include "skein/kernels/elementwise.h"
#include "skein/kernels/matmul.h"

#include "by_group.h"
#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

Shape with_last(const Shape& shape, int64_t last) {
  Shape made = shape;
  made[-1] = last;
  return made;
}

// gradient += dyᵀ · x over all rows, so that the bits do not depend on which samples [T,C] of x
// [B,T,C] come together.
template <class OnDevice>
void add_weight_gradient(OnDevice device, const Tensor& dy, const Tensor& x,
                         const Tensor& gradient) {
  const int64_t rows = x.size() / x.dim(-1), sample = x.shape().rank() == 3 ? x.dim(1) : rows;
  const bool apart = sample % kernels::depth_granule(device, x.dtype()) != 0;
  add_by_group({gradient}, rows, [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
    const int64_t step = apart ? std::min(sample, end - begin) : end - begin;
    for (int64_t row = begin; row < end; row += step)
      kernels::matmul(
          device, some_rows(dy, row, row + step), some_rows(x, row, row + step),
          {.transpose_a = true, .accumulate = true, .any_rows = SampleGroups::one_by_one() > 0},
          into[0]);
  });
}

template <class OnDevice>
void add_bias_gradient(OnDevice device, const Tensor& dy, const Tensor& gradient) {
  add_by_group({gradient}, dy.size() / dy.dim(-1),
               [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
                 kernels::bias_backward(device, some_rows(dy, begin, end), into[0]);
               });
}

// dy = given through f; adds the rows of dy to the bias' gradient where that is defined.
template <class OnDevice>
void through_activation(OnDevice device, Activation f, const Tensor& sum, const Tensor& given,
                        const Tensor& dy, const Tensor& bias_gradient) {
  add_by_group({bias_gradient}, dy.size() / dy.dim(-1),
               [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
                 kernels::activation_backward(device, f, some_rows(sum, begin, end),
                                              some_rows(given, begin, end),
                                              Out(some_rows(dy, begin, end)), into[0]);
               });
}

}  // namespace

Var linear(const Var& x, const Weight& weight, const Weight& bias, std::optional<Activation> f) {
  check_operands("linear", {{"x", "...K", x.value()},
                            {"weight", "NK", weight.value()},
                            optional({"bias", "N", bias.value()}),
                            gradient_of("weight's gradient", "NK", weight),
                            gradient_of("bias's gradient", "N", bias)});
  const Tensor sum = x.value().like(with_last(x.shape(), weight.value().dim(0)));
  const Tensor out = f ? sum.like() : sum;
  const bool any_rows = SampleGroups::one_by_one() > 0;
  kernels::MatmulArguments arguments{
      .transpose_b = true, .bias = bias.value(), .any_rows = any_rows};
  arguments.copies_of_b = weight.packed();
  if (f) arguments.activation = *f;
  on_device(out.device(), [&](auto device) {
    kernels::matmul(device, as_rows(x.value()), weight.value(), arguments, Out(as_rows(sum)),
                    f ? Out(as_rows(out)) : Out());
  });
  return record(out, {x}, weight.learns(),
                [x, weight, bias, f, any_rows, sum = f ? sum : Tensor()](const Tensor& given) {
                  const Tensor dy = f ? given.like() : given;
                  on_device(dy.device(), [&](auto device) {
                    if (f)
                      through_activation(device, *f, sum, given, dy,
                                         bias.learns() ? bias.gradient() : Tensor());
                    if (x.needs_gradient()) {
                      const Tensor dx = dy.like(x.shape());
                      kernels::matmul(device, as_rows(dy), weight.value(),
                                      {.copies_of_b = weight.packed(), .any_rows = any_rows},
                                      Out(as_rows(dx)));
                      x.add_gradient(dx);
                    }
                    if (weight.learns())
                      add_weight_gradient(device, dy, x.value(), weight.gradient());
                    if (!f && bias.learns()) add_bias_gradient(device, dy, bias.gradient());
                  });
                });
}

Tensor linear_sums(const Tensor& x, const Weight& weight, const Weight& bias) {
  check_operands(
      "linear_sums",
      {{"x", "...K", x}, {"weight", "NK", weight.value()}, optional({"bias", "N", bias.value()})});
  const Tensor sums =
      x.like(with_last(x.shape(), weight.value().dim(0)), gradient_dtype(x.dtype()));
  on_device(sums.device(), [&](auto device) {
    kernels::matmul(device, as_rows(x), weight.value(),
                    {.transpose_b = true, .copies_of_b = weight.packed()}, Out(as_rows(sums)));
    if (bias.defined()) kernels::add_bias(device, sums, bias.value(), Out(sums));
  });
  return sums;
}

Var add_bias(const Var& x, const Weight& bias) {
  check_operands("add_bias", {{"x", "...N", x.value()},
                              {"bias", "N", bias.value()},
                              gradient_of("bias's gradient", "N", bias)});
  const Tensor y = made_on_device(x.value().like(), [&](auto device, Out out) {
    kernels::add_bias(device, x.value(), bias.value(), out);
  });
  return record(y, {x}, bias.learns(), [x, bias](const Tensor& dy) {
    x.add_gradient(dy);
    if (bias.learns())
      on_device(dy.device(), [&](auto device) { add_bias_gradient(device, dy, bias.gradient()); });
  });
}

}  // namespace skein::ops
