#include "skein/ops/attention.h"

#include "skein/kernels/hashing.h"

#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

void check_both(const char* one, const Tensor& a, const char* other, const Tensor& b) {
  check(a.defined() == b.defined(), "attention: {} need {}, which are undefined",
        a.defined() ? one : other, a.defined() ? other : one);
}

void check_lists(const Tensor& q, const kernels::BlockLists& lists) {
  if (lists.size == 0) return;
  check(lists.size > 0, "attention: blocks of lists must have places, not {}", lists.size);
  check_operands("attention", {{"lists.starts", "LN", lists.starts, DType::i32},
                               {"lists.blocks", "E", lists.blocks, DType::i32}});
  check_both("lists.origins", lists.origins, "lists.rows", lists.rows);
  const int64_t sets = lists.starts.dim(0),
                rows = lists.rows.defined() ? lists.starts.dim(1)
                                            : (q.dim(1) + lists.size - 1) / lists.size + 1;
  check((sets == 1 || sets == q.dim(2)) && lists.starts.dim(1) == rows,
        "attention: lists.starts must be [1,{0}] or [{1},{0}] for blocks of {2}, not {3}: q {4}",
        rows, q.dim(2), lists.size, lists.starts.shape(), q.shape());
}

void check_pattern(const Tensor& q, const Pattern& pattern) {
  check_both("query_segments", pattern.query_segments, "key_segments", pattern.key_segments);
  check_both("query_places", pattern.query_places, "key_places", pattern.key_places);
  check_lists(q, pattern.lists);
}

void check_bias(const Tensor& q, const Tensor& k, const Tensor& bias) {
  if (!bias.defined()) return;
  const bool dense = bias.shape().rank() == 4;
  const DType wanted = gradient_dtype(q.dtype());
  check_operands("attention", {{"bias", dense ? "PHTS" : "PHE", bias, wanted}});
  const int64_t samples = bias.dim(0), queries = q.dim(1), keys = k.dim(1);
  const Shape shape = dense ? Shape{samples, q.dim(2), queries, keys}
                            : Shape{samples, q.dim(2), queries + keys - 1};
  check(
      bias.shape() == shape && samples > 0 && q.dim(0) % samples == 0,
      "attention: bias must be [P,H,T+S-1] or [P,H,T,S] with the {} samples a multiple of P: bias "
      "{}, q {}, k {}",
      q.dim(0), bias.shape(), q.shape(), k.shape());
}

void check_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                     const AttentionArguments& a) {
  const Pattern& pattern = a.pattern;
  check_operands("attention",
                 {{"q", "BTHD", q},
                  {"k", "BSGD", k},
                  {"v", "BSGD", v},
                  optional({"query_segments", "BT", pattern.query_segments, DType::i32}),
                  optional({"key_segments", "BS", pattern.key_segments, DType::i32}),
                  optional({"first_key", "B", pattern.first_key, DType::i32}),
                  optional({"prefix", "B", pattern.prefix, DType::i32}),
                  optional({"marked", "BS", pattern.marked, DType::i32}),
                  optional({"lists.origins", "BT", pattern.lists.origins, DType::i32}),
                  optional({"lists.rows", "BT", pattern.lists.rows, DType::i32}),
                  optional({"query_places", "BT", pattern.query_places, DType::i32}),
                  optional({"key_places", "BS", pattern.key_places, DType::i32})});
  check(q.dim(2) % k.dim(2) == 0,
        "attention: the {} heads of q must be a multiple of the {} of k: q {}, k {}", q.dim(2),
        k.dim(2), q.shape(), k.shape());
  check_pattern(q, pattern);
  check_bias(q, k, a.bias);
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

Var attention(const Var& q, const Var& k, const Var& v, const AttentionArguments& given,
              const Var& bias, Var* level) {
  AttentionArguments arguments = given;
  if (bias.defined()) arguments.bias = bias.value();
  const Tensor& query = q.value();
  check_attention(query, k.value(), v.value(), arguments);
  const Tensor out = query.like(), levels = query.like({query.dim(0), query.dim(2), query.dim(1)},
                                                       gradient_dtype(query.dtype()));
  on_device(out.device(), [&](auto device) {
    kernels::attention(device, query, k.value(), v.value(), arguments, Out(out), Out(levels));
  });
  // The gradient of the levels waits here for that of `out`, whose node runs after theirs.
  const auto of_levels = std::make_shared<Tensor>();
  const Var made = record(out, {q, k, v, bias}, false, [=](const Tensor& dy) {
    const Tensor dq = dy.like(q.shape()), dk = dy.like(k.shape()), dv = dy.like(v.shape());
    const Tensor dbias = bias.needs_gradient() ? bias.value().like() : Tensor();
    on_device(dy.device(), [&](auto device) {
      kernels::attention_backward(device, {q.value(), k.value(), v.value(), out, levels}, arguments,
                                  {dy.reshape(out.shape()), *of_levels},
                                  {Out(dq), Out(dk), Out(dv), Out(dbias)});
    });
    q.add_gradient(dq);
    k.add_gradient(dk);
    v.add_gradient(dv);
    if (dbias.defined()) bias.add_gradient(dbias);
  });
  if (level)
    *level = record(levels, {made}, false, [=](const Tensor& dlevels) {
      *of_levels = dlevels;
      const Tensor none = out.like();
      none.fill_zero();
      made.add_gradient(none);
    });
  return made;
}

Var merge_rounds(const Var& parts, const Var& levels, const Tensor& rows) {
  check_operands("merge_rounds",
                 {{"parts", "PC", parts.value()},
                  {"levels", "P", levels.value(), gradient_dtype(parts.value().dtype())},
                  {"rows", "RN", rows, DType::i32}});
  const kernels::RoundParts from{parts.value(), levels.value(), rows};
  const Tensor y =
      made_on_device(parts.value().like({rows.dim(1), parts.shape()[1]}),
                     [&](auto device, Out out) { kernels::merge_rounds(device, from, out); });
  return record(y, {parts, levels}, false, [parts, levels, from, y](const Tensor& dy) {
    const Tensor dparts = dy.like(parts.shape()), dlevels = from.levels.like();
    on_device(dy.device(), [&](auto device) {
      kernels::merge_rounds_backward(device, from, y, dy, Out(dparts), Out(dlevels));
    });
    parts.add_gradient(dparts);
    levels.add_gradient(dlevels);
  });
}

Var rotary(const Var& x, const Tensor& positions, const RotaryWaves& waves) {
  check_operands("rotary", {{"x", "BTHD", x.value()}, {"positions", "BT", positions, DType::i32}});
  check(x.shape()[3] % 2 == 0,
        "rotary: heads must have an even number of dims to turn in pairs: x {}", x.shape());
  check(waves.width % 2 == 0 && waves.width >= 0 && waves.width <= x.shape()[3],
        "rotary: {} dims of a head cannot turn in pairs: x {}", waves.width, x.shape());
  check(waves.scaling != kernels::RopeScaling::longrope ||
            std::ssize(waves.factors) == waves.turned(x.shape()[3]) / 2,
        "rotary: there are {} factors of longrope for {} pairs that turn: x {}",
        waves.factors.size(), waves.turned(x.shape()[3]) / 2, x.shape());
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
