#include "skein/ops/math.h"

namespace skein::ops {
namespace {

Tensor like(const Tensor& x) { return Tensor::empty(x.shape(), x.dtype(), x.device()); }

Var record_sum(const Var& a, const Var& b, const Tensor& out) {
  return record(out, {a, b}, false, [a, b](const Tensor& dy) {
    a.add_gradient(dy);
    b.add_gradient(dy);
  });
}

}  // namespace

Var add(const Var& a, const Var& b) {
  SKEIN_CHECK_EQ(a.shape().str(), b.shape().str());
  Tensor out = like(a.value());
  on_device(out.device(),
            [&](auto device) { kernels::add(device, a.value(), b.value(), Out(out)); });
  return record_sum(a, b, out);
}

Var scale(const Var& x, double factor) {
  if (factor == 1) return x;
  const auto scaled = [factor](const Tensor& from) {
    const Tensor out = Tensor::empty(from.shape(), from.dtype(), from.device());
    on_device(out.device(), [&](auto device) { kernels::scale(device, from, factor, Out(out)); });
    return out;
  };
  return record(scaled(x.value()), {x}, false,
                [x, scaled](const Tensor& dy) { x.add_gradient(scaled(dy)); });
}

Var activation(const Var& x, Activation kind) {
  Tensor out = like(x.value());
  on_device(out.device(),
            [&](auto device) { kernels::activation(device, kind, x.value(), Out(out)); });
  return record(out, {x}, false, [x, kind](const Tensor& dy) {
    Tensor dx = like(dy);
    on_device(dx.device(), [&](auto device) {
      kernels::activation_backward(device, kind, x.value(), dy, Out(dx));
    });
    x.add_gradient(dx);
  });
}

Var swiglu(const Var& gate, const Var& up) {
  Tensor out = like(gate.value());
  on_device(out.device(),
            [&](auto device) { kernels::swiglu(device, gate.value(), up.value(), Out(out)); });
  return record(out, {gate, up}, false, [gate, up](const Tensor& dy) {
    Tensor dgate = like(dy), dup = like(dy);
    on_device(dy.device(), [&](auto device) {
      kernels::swiglu_backward(device, gate.value(), up.value(), dy, Out(dgate), Out(dup));
    });
    gate.add_gradient(dgate);
    up.add_gradient(dup);
  });
}

Var dropout(const Var& x, const DropoutMask& mask) {
  if (mask.probability <= 0) return x;
  Tensor out = like(x.value());
  on_device(out.device(),
            [&](auto device) { kernels::dropout(device, x.value(), mask, Out(out)); });
  return record(out, {x}, false, [x, mask](const Tensor& dy) {
    Tensor dx = like(dy);
    on_device(dx.device(),
              [&](auto device) { kernels::dropout(device, dy.reshape(x.shape()), mask, Out(dx)); });
    x.add_gradient(dx);
  });
}

namespace {

// Records the norm of x, which its forward makes, where there is a branch, of `before` and that.
Var record_norm(const Var& x, const Tensor& before, const kernels::NormArguments& arguments,
                const Weight& gain, const Weight& bias) {
  Tensor out = like(x.value());
  const DType sums = gradient_dtype(out.dtype());
  const int64_t rows = out.size() / gain.value().size();
  Tensor mean = Tensor::empty({rows}, sums, out.device()),
         rstd = Tensor::empty({rows}, sums, out.device());
  on_device(out.device(), [&](auto device) {
    kernels::norm(device, before, arguments, Out(out), Out(mean), Out(rstd),
                  arguments.branch.defined() ? Out(x.value()) : Out());
  });
  return record(out, {x}, gain.learns(),
                [x, kind = arguments.kind, gain, bias, mean, rstd](const Tensor& dy) {
                  Tensor dx = like(dy);
                  const Tensor more = x.take_gradient();
                  on_device(dx.device(), [&](auto device) {
                    kernels::norm_backward(device, {kind, x.value(), gain.value(), mean, rstd}, dy,
                                           more, Out(dx), Out(gain.gradient()),
                                           Out(bias.gradient()));
                  });
                  x.add_gradient(dx);
                });
}

}  // namespace

Var norm(const Var& x, Norm kind, const Weight& gain, const Weight& bias, double epsilon) {
  return record_norm(x, x.value(), {kind, gain.value(), bias.value(), epsilon}, gain, bias);
}

Joined add_norm(const Var& x, const Var& branch, Norm kind, const Weight& gain, const Weight& bias,
                double epsilon) {
  SKEIN_CHECK_EQ(x.shape().str(), branch.shape().str());
  const Var sum = record_sum(x, branch, like(x.value()));
  return {sum,
          record_norm(sum, x.value(), {kind, gain.value(), bias.value(), epsilon, branch.value()},
                      gain, bias)};
}

}  // namespace skein::ops
