#include "skein/ops/linear.h"

#include "skein/kernels/elementwise.h"
#include "skein/kernels/matmul.h"

namespace skein::ops {
namespace {

using kernels::Transpose;
using kernels::Write;

Tensor as_rows(const Tensor& x) { return x.reshape({-1, x.dim(-1)}); }

Shape with_last(const Shape& shape, int64_t last) {
  Shape made = shape;
  made[-1] = last;
  return made;
}

// gradient += dyᵀ · x over all rows, so that the bits do not depend on which samples [T,C] of x [B,T,C] come together.
template <class OnDevice>
void add_weight_gradient(OnDevice device, const Tensor& dy, const Tensor& x, const Tensor& gradient) {
  const int64_t rows = x.size() / x.dim(-1), sample = x.shape().rank() == 3 ? x.dim(1) : rows;
  const int64_t step = sample % kernels::depth_granule(device, x.dtype()) ? sample : rows;
  for (int64_t row = 0; row < rows; row += step)
    kernels::matmul(device, as_rows(dy).rows(row, row + step), Transpose::yes, as_rows(x).rows(row, row + step), Transpose::no, gradient,
                    Write::accumulate);
}

}  // namespace

Var linear(const Var& x, const Weight& weight, const Weight& bias) {
  const int64_t outputs = weight.value.dim(0);
  SKEIN_CHECK_EQ(x.shape()[-1], weight.value.dim(1));
  Tensor out = Tensor::empty(with_last(x.shape(), outputs), x.value().dtype(), x.value().device());
  on_device(out.device(), [&](auto device) {
    kernels::matmul(device, as_rows(x.value()), Transpose::no, weight.value, Transpose::yes, as_rows(out));
    if (bias.defined()) kernels::add_bias(device, out, bias.value, out);
  });
  return record(out, {x}, weight.learns(), [x, weight, bias](const Tensor& dy) {
    const Tensor rows = as_rows(dy);
    on_device(dy.device(), [&](auto device) {
      if (x.needs_gradient()) {
        Tensor dx = Tensor::empty(x.shape(), dy.dtype(), dy.device());
        kernels::matmul(device, rows, Transpose::no, weight.value, Transpose::no, as_rows(dx));
        x.add_gradient(dx);
      }
      if (weight.learns()) add_weight_gradient(device, dy, x.value(), weight.gradient);
      if (bias.learns()) kernels::bias_backward(device, dy, bias.gradient);
    });
  });
}

Var add_bias(const Var& x, const Weight& bias) {
  Tensor out = Tensor::empty(x.shape(), x.value().dtype(), x.value().device());
  on_device(out.device(), [&](auto device) { kernels::add_bias(device, x.value(), bias.value, out); });
  return record(out, {x}, bias.learns(), [x, bias](const Tensor& dy) {
    x.add_gradient(dy);
    if (bias.learns()) on_device(dy.device(), [&](auto device) { kernels::bias_backward(device, dy, bias.gradient); });
  });
}

}  // namespace skein::ops
