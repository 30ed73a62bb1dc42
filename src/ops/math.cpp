#include "skein/ops/math.h"

#include "by_group.h"
#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

Var record_sum(const Var& a, const Var& b, const Tensor& out) {
  return record(out, {a, b}, false, [a, b](const Tensor& dy) {
    a.add_gradient(dy);
    b.add_gradient(dy);
  });
}

}  // namespace

Tensor converted(const Tensor& x, DType dtype) {
  check_operands("converted", {{"x", "...", x}});
  if (x.dtype() == dtype) return x;
  const Tensor made = Tensor::zeros(x.shape(), dtype, x.device());
  on_device(x.device(), [&](auto device) { kernels::accumulate(device, x, Out(made)); });
  return made;
}

Var add(const Var& a, const Var& b) {
  check_operands("add", {{"a", "...", a.value()}, {"b", "=", b.value()}});
  return record_sum(a, b, made_on_device(a.value().like(), [&](auto device, Out sum) {
                      kernels::add(device, a.value(), b.value(), sum);
                    }));
}

Var scale(const Var& x, double factor) {
  check_operands("scale", {{"x", "...", x.value()}});
  if (factor == 1) return x;
  const auto scaled = [factor](const Tensor& from) {
    return made_on_device(from.like(),
                          [&](auto device, Out out) { kernels::scale(device, from, factor, out); });
  };
  return record(scaled(x.value()), {x}, false,
                [x, scaled](const Tensor& dy) { x.add_gradient(scaled(dy)); });
}

Var activation(const Var& x, Activation kind) {
  check_operands("activation", {{"x", "...", x.value()}});
  const Tensor y = made_on_device(x.value().like(), [&](auto device, Out out) {
    kernels::activation(device, kind, x.value(), out);
  });
  return record(y, {x}, false, [x, kind](const Tensor& dy) {
    x.add_gradient(made_on_device(dy.like(), [&](auto device, Out dx) {
      kernels::activation_backward(device, kind, x.value(), dy, dx);
    }));
  });
}

Var gated(const Var& gate, const Var& up, Activation kind) {
  check_operands("gated", {{"gate", "...", gate.value()}, {"up", "=", up.value()}});
  const Tensor y = made_on_device(gate.value().like(), [&](auto device, Out out) {
    kernels::gated(device, kind, gate.value(), up.value(), out);
  });
  return record(y, {gate, up}, false, [gate, up, kind](const Tensor& dy) {
    const Tensor dgate = dy.like(), dup = dy.like();
    on_device(dy.device(), [&](auto device) {
      kernels::gated_backward(device, kind, gate.value(), up.value(), dy, Out(dgate), Out(dup));
    });
    gate.add_gradient(dgate);
    up.add_gradient(dup);
  });
}

Var dropout(const Var& x, const DropoutMask& mask) {
  if (mask.probability <= 0) return x;
  check_operands("dropout",
                 {{"x", "BTC", x.value()}, {"sample_ids", "B", mask.sample_ids, DType::i64}});
  check(mask.probability < 1, "dropout: the probability must be below 1, not {}", mask.probability);
  check(mask.columns == 0 || mask.first_column + x.shape()[2] <= mask.columns,
        "dropout: the {} columns of x from {} on must lie in the {} of the mask", x.shape()[2],
        mask.first_column, mask.columns);
  const auto dropped = [mask](const Tensor& from) {
    return made_on_device(from.like(),
                          [&](auto device, Out out) { kernels::dropout(device, from, mask, out); });
  };
  return record(dropped(x.value()), {x}, false,
                [x, dropped](const Tensor& dy) { x.add_gradient(dropped(dy.reshape(x.shape()))); });
}

namespace {

// Records the norm of x, which its forward makes, where there is a branch, of `before` and that.
Var record_norm(const Var& x, const Tensor& before, const kernels::NormArguments& arguments,
                const Weight& gain, const Weight& bias) {
  const Tensor out = x.value().like();
  const DType sums = gradient_dtype(out.dtype());
  const int64_t rows = out.size() / gain.value().size();
  const Tensor mean = out.like({rows}, sums), rstd = out.like({rows}, sums);
  on_device(out.device(), [&](auto device) {
    kernels::norm(device, before, arguments, Out(out), Out(mean), Out(rstd),
                  arguments.branch.defined() ? Out(x.value()) : Out());
  });
  return record(
      out, {x}, gain.learns(),
      [x, kind = arguments.kind, gain, bias, mean, rstd](const Tensor& dy) {
        const Tensor dx = dy.like();
        const Tensor more = x.take_gradient();
        const auto add = [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
          const kernels::NormedRows of{kind, some_rows(x.value(), begin, end), gain.value(),
                                       mean.rows(begin, end), rstd.rows(begin, end)};
          on_device(dx.device(), [&](auto device) {
            kernels::norm_backward(device, of, some_rows(dy, begin, end),
                                   more.defined() ? some_rows(more, begin, end) : Tensor(),
                                   Out(some_rows(dx, begin, end)), into[0], into[1]);
          });
        };
        add_by_group({gain.gradient(), bias.gradient()}, mean.size(), add);
        x.add_gradient(dx);
      });
}

}  // namespace

Var norm(const Var& x, Norm kind, const Weight& gain, const Weight& bias, double epsilon) {
  check_operands("norm", {{"x", "...C", x.value()},
                          {"gain", "C", gain.value()},
                          optional({"bias", "C", bias.value()}),
                          gradient_of("gain's gradient", "C", gain),
                          gradient_of("bias's gradient", "C", bias)});
  return record_norm(x, x.value(), {kind, gain.value(), bias.value(), epsilon}, gain, bias);
}

SumAndNorm add_norm(const Var& x, const Var& branch, Norm kind, const Weight& gain,
                    const Weight& bias, double epsilon) {
  check_operands("add_norm", {{"x", "...C", x.value()},
                              {"branch", "=", branch.value()},
                              {"gain", "C", gain.value()},
                              optional({"bias", "C", bias.value()}),
                              gradient_of("gain's gradient", "C", gain),
                              gradient_of("bias's gradient", "C", bias)});
  const Var sum = record_sum(x, branch, x.value().like());
  return {sum,
          record_norm(sum, x.value(), {kind, gain.value(), bias.value(), epsilon, branch.value()},
                      gain, bias)};
}

}  // namespace skein::ops
