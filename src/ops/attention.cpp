#include "skein/ops/attention.h"

#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                     const AttentionArguments& a) {
  check_operands("attention",
                 {{"q", "BTHD", q},
                  {"k", "BSGD", k},
                  {"v", "BSGD", v},
                  optional({"query_segments", "BT", a.mask.query_segments, DType::i32}),
                  optional({"key_segments", "BS", a.mask.key_segments, DType::i32}),
                  optional({"first_key", "B", a.mask.first_key, DType::i32})});
  check(q.dim(2) % k.dim(2) == 0,
        "attention: the {} heads of q must be a multiple of the {} of k: q {}, k {}", q.dim(2),
        k.dim(2), q.shape(), k.shape());
  const bool of_queries = a.mask.query_segments.defined();
  check(of_queries == a.mask.key_segments.defined(),
        "attention: {}_segments need {}_segments, which are undefined",
        of_queries ? "query" : "key", of_queries ? "key" : "query");
  if (a.dropout <= 0) return;
  check_operands("attention", {{"q", "BTHD", q}, {"sample_ids", "B", a.sample_ids, DType::i64}});
  check(a.dropout < 1, "attention: dropout must be below 1, not {}", a.dropout);
}

// Whether so many values can have the shape, of which one dim may be -1.
bool holds(const Shape& shape, int64_t values) {
  int64_t known = 1, open = 0;
  for (int64_t dim : shape.dims()) {
    if (dim == -1)
      ++open;
    else
      known *= dim;
  }
  return open == 0 ? known == values : open == 1 && (known ? values % known == 0 : values == 0);
}

}  // namespace

Var attention(const Var& q, const Var& k, const Var& v, const AttentionArguments& arguments) {
  const Tensor& query = q.value();
  check_attention(query, k.value(), v.value(), arguments);
  const Tensor out = query.like(),
               logsumexp = query.like({query.dim(0), query.dim(2), query.dim(1)},
                                      gradient_dtype(query.dtype()));
  on_device(out.device(), [&](auto device) {
    kernels::attention(device, query, k.value(), v.value(), arguments, Out(out), Out(logsumexp));
  });
  return record(out, {q, k, v}, false, [q, k, v, arguments, out, logsumexp](const Tensor& dy) {
    const Tensor dq = dy.like(q.shape()), dk = dy.like(k.shape()), dv = dy.like(v.shape());
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
  check_operands("rotary", {{"x", "BTHD", x.value()}, {"positions", "BT", positions, DType::i32}});
  check(x.shape()[3] % 2 == 0,
        "rotary: heads must have an even number of dims to turn in pairs: x {}", x.shape());
  const auto turned = [positions, waves](const Tensor& from, bool inverse) {
    return made_on_device(from.like(), [&](auto device, Out out) {
      kernels::rotary(device, from, positions, waves, inverse, out);
    });
  };
  return record(turned(x.value(), false), {x}, false,
                [x, turned](const Tensor& dy) { x.add_gradient(turned(dy, true)); });
}

Var reshape(const Var& x, const Shape& shape) {
  check(holds(shape, x.shape().size()), "reshape: {} does not hold the {} values of x {}", shape,
        x.shape().size(), x.shape());
  return record(x.value().reshape(shape), {x}, false,
                [x](const Tensor& dy) { x.add_gradient(dy.reshape(x.shape())); });
}

}  // namespace skein::ops
