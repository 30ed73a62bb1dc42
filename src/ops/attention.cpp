#include "skein/ops/attention.h"

namespace skein::ops {
namespace {

// A number for each query and for each key, or none at all.
void check_segments(const Mask& mask, const Shape& q, const Shape& k) {
  SKEIN_CHECK_EQ(mask.query_segments.defined(), mask.key_segments.defined());
  if (!mask.key_segments.defined()) return;
  SKEIN_CHECK_EQ(mask.query_segments.shape().str(), (Shape{q[0], q[1]}).str());
  SKEIN_CHECK_EQ(mask.key_segments.shape().str(), (Shape{k[0], k[1]}).str());
}

}  // namespace

Var attention(const Var& q, const Var& k, const Var& v, const AttentionArguments& arguments) {
  check_segments(arguments.mask, q.shape(), k.shape());
  const Tensor& query = q.value();
  Tensor out = Tensor::empty(query.shape(), query.dtype(), query.device());
  Tensor logsumexp = Tensor::empty({query.dim(0), query.dim(2), query.dim(1)},
                                   gradient_dtype(query.dtype()), query.device());
  on_device(out.device(), [&](auto device) {
    kernels::attention(device, query, k.value(), v.value(), arguments, Out(out), Out(logsumexp));
  });
  return record(out, {q, k, v}, false, [q, k, v, arguments, out, logsumexp](const Tensor& dy) {
    Tensor dq = Tensor::empty(q.shape(), dy.dtype(), dy.device());
    Tensor dk = Tensor::empty(k.shape(), dy.dtype(), dy.device()),
           dv = Tensor::empty(v.shape(), dy.dtype(), dy.device());
    on_device(dy.device(), [&](auto device) {
      kernels::attention_backward(device, {q.value(), k.value(), v.value(), out, logsumexp},
                                  arguments, dy.reshape(out.shape()), Out(dq), Out(dk), Out(dv));
    });
    q.add_gradient(dq);
    k.add_gradient(dk);
    v.add_gradient(dv);
  });
}

Var rotary(const Var& x, const Tensor& positions, const RotaryWaves& waves) {
  Tensor out = Tensor::empty(x.shape(), x.value().dtype(), x.value().device());
  on_device(out.device(), [&](auto device) {
    kernels::rotary(device, x.value(), positions, waves, false, Out(out));
  });
  return record(out, {x}, false, [x, positions, waves](const Tensor& dy) {
    Tensor dx = Tensor::empty(x.shape(), dy.dtype(), dy.device());
    on_device(dx.device(),
              [&](auto device) { kernels::rotary(device, dy, positions, waves, true, Out(dx)); });
    x.add_gradient(dx);
  });
}

Var reshape(const Var& x, const Shape& shape) {
  return record(x.value().reshape(shape), {x}, false,
                [x](const Tensor& dy) { x.add_gradient(dy.reshape(x.shape())); });
}

}  // namespace skein::ops
