#include "skein/ops/collective.h"

#include "skein/kernels/reduce.h"

#include "checks.h"
#include "made.h"

namespace skein::ops {
namespace {

Tensor swapped(const Tensor& x) {
  Shape shape = x.shape();
  std::swap(shape[0], shape[1]);
  return made_on_device(x.like(shape),
                        [&](auto device, Out out) { kernels::swap_leading(device, x, out); });
}

// [B,T/t,C] of each rank -> [B,T,C]
Tensor gathered(const Tensor& x, Group& group) {
  const int64_t batch = x.dim(0), own = x.dim(1), columns = x.dim(2), ranks = group.size();
  const Tensor blocks = x.like({ranks, batch, own * columns});
  group.all_gather(x, blocks).wait();
  return swapped(blocks).reshape({batch, ranks * own, columns});
}

// [B,T,C] -> [t,B,T/t*C]: blocks in rank order
Tensor in_blocks(const Tensor& x, int ranks) {
  return swapped(x.reshape({x.dim(0), ranks, x.dim(1) / ranks * x.dim(2)}));
}

Tensor reduce_scattered(const Tensor& x, Group& group) {
  const Tensor own = x.like({x.dim(0), x.dim(1) / group.size(), x.dim(2)});
  group.reduce_scatter(in_blocks(x, group.size()), own).wait();
  return own;
}

Tensor own_slice(const Tensor& x, Group& group) {
  const int64_t batch = x.dim(0), own = x.dim(1) / group.size(), columns = x.dim(2);
  return in_blocks(x, group.size())
      .rows(group.rank(), group.rank() + 1)
      .reshape({batch, own, columns});
}

Tensor same(const Tensor& x, Group&) { return x; }

Tensor summed(const Tensor& x, Group& group) {
  Tensor sum = x.clone();
  group.all_reduce_sum(sum).wait();
  return sum;
}

// Forward one move of x between the ranks, backward its conjugate of the gradient.
using Move = Tensor (*)(const Tensor& x, Group& group);
Var moved(const Var& x, Group& group, Move forward, Move conjugate) {
  if (group.size() == 1) return x;
  return record(forward(x.value(), group), {x}, false,
                [x, &group, conjugate](const Tensor& dy) { x.add_gradient(conjugate(dy, group)); });
}

// Empty where x is not [B,T/t,C].
Shape gathered_shape(const Shape& x, const Group& group) {
  return x.rank() == 3 ? Shape{x[0], x[1] * group.size(), x[2]} : Shape();
}

void check_any(const char* op, const Tensor& x) { check_operands(op, {{"x", "...", x}}); }

void check_sequence(const char* op, const Tensor& x) { check_operands(op, {{"x", "BTC", x}}); }

void check_parts(const char* op, const Tensor& x, const Group& group) {
  check_sequence(op, x);
  check(x.dim(1) % group.size() == 0, "{}: {} positions do not divide by {} ranks: x {}", op,
        x.dim(1), group.size(), x.shape());
}

}  // namespace

Var copy_to_shards(const Var& x, Group& group) {
  check_any("copy_to_shards", x.value());
  return moved(x, group, same, summed);
}

Var reduce_from_shards(const Var& x, Group& group) {
  check_any("reduce_from_shards", x.value());
  return moved(x, group, summed, same);
}

Var gather_sequence(const Var& x, Group& group) {
  check_sequence("gather_sequence", x.value());
  return moved(x, group, gathered, reduce_scattered);
}

Var gather_sequence_alike(const Var& x, Group& group) {
  check_sequence("gather_sequence_alike", x.value());
  return moved(x, group, gathered, own_slice);
}

void gather_again(const Var& made, const Var& x, Group& group) {
  check(made.shape() == gathered_shape(x.shape(), group),
        "gather_again: made must be x [B,T/t,C] of {} ranks gathered: x {}, made {}", group.size(),
        x.shape(), made.shape());
  if (group.size() > 1 && recording())
    made.remake_value([x, &group] { return gathered(x.value(), group); });
}

Var reduce_scatter_sequence(const Var& x, Group& group) {
  check_parts("reduce_scatter_sequence", x.value(), group);
  return moved(x, group, reduce_scattered, gathered);
}

Var slice_sequence(const Var& x, Group& group) {
  check_parts("slice_sequence", x.value(), group);
  return moved(x, group, own_slice, gathered);
}

Var once(const Var& x, Group& group) {
  check_any("once", x.value());
  if (group.size() == 1) return x;
  return record(x.value(), {x}, false, [x, first = group.rank() == 0](const Tensor& dy) {
    x.add_gradient(first ? dy : Tensor::zeros(dy.shape(), dy.dtype(), dy.device()));
  });
}

Tensor whole_columns(const Tensor& x, Group& group) {
  check_operands("whole_columns", {{"x", "MN", x}});
  const int64_t shards = group.size(), rows = x.dim(0), part = x.dim(1);
  if (shards == 1) return x;
  const Tensor all = x.like({shards, rows, part});
  group.all_gather(x, all).wait();
  return swapped(all).reshape({rows, -1});
}

}  // namespace skein::ops
