#include "skein/ops/embedding.h"

#include "skein/kernels/embedding.h"
#include "skein/kernels/reduce.h"

#include "checks.h"

namespace skein::ops {

Var embedding(const Tensor& ids, const Weight& table, int64_t first_id) {
  check_operands("embedding", {{"table", "VC", table.value()},
                               {"ids", "BT", ids, DType::i32},
                               gradient_of("table's gradient", "VC", table)});
  Tensor out = Tensor::empty({ids.dim(0), ids.dim(1), table.value().dim(1)}, table.value().dtype(),
                             table.value().device());
  on_device(out.device(), [&](auto device) {
    kernels::embedding(device, table.value(), ids, first_id, Out(out));
  });
  return record(out, {}, table.learns(), [ids, table, first_id](const Tensor& dy) {
    on_device(dy.device(), [&](auto device) {
      kernels::embedding_backward(device, dy, ids, first_id, Out(table.gradient()));
    });
  });
}

Var take_places(const Var& x, const Batch& batch) {
  if (!batch.places.defined()) return x;
  check_operands("take_places", {{"x", "BTC", x.value()},
                                 {"places", "BP", batch.places, DType::i32},
                                 {"place_rows", "M", batch.place_rows, DType::i32},
                                 {"row_places", "N", batch.row_places, DType::i32}});
  const int64_t places = batch.places.size(), rows = x.shape()[0] * x.shape()[1];
  check(
      batch.place_rows.size() == places && batch.row_places.size() == rows,
      "take_places: place_rows must have {} values as places, and row_places {} as x has rows, not "
      "{} and {}",
      places, rows, batch.place_rows.size(), batch.row_places.size());
  const auto taken = [](const Tensor& from, const Tensor& rows, const Shape& shape) {
    Tensor out = Tensor::empty(shape, from.dtype(), from.device());
    on_device(out.device(), [&](auto device) {
      kernels::embedding(device, from.reshape({-1, from.dim(-1)}), rows, 0, Out(out));
    });
    return out;
  };
  const Shape shape{batch.size(), batch.places.dim(1), x.shape()[2]};
  return record(taken(x.value(), batch.place_rows, shape), {x}, false,
                [x, rows = batch.row_places, taken](const Tensor& dy) {
                  x.add_gradient(taken(dy, rows, x.shape()));
                });
}

Tensor last_position(const Tensor& x) {
  check_operands("last_position", {{"x", "BTC", x}});
  check(x.dim(1) > 0, "last_position: there must be 1 position or more: x {}", x.shape());
  Tensor last = Tensor::empty({x.dim(0), 1, x.dim(2)}, x.dtype(), x.device());
  on_device(x.device(),
            [&](auto device) { kernels::copy_places(device, x, x.dim(1) - 1, 1, 0, Out(last)); });
  return last;
}

Var sample_means(const Var& x, const Tensor& segments) {
  check_operands("sample_means",
                 {{"x", "BTC", x.value()}, optional({"segments", "BT", segments, DType::i32})});
  const int64_t samples = x.shape()[0], length = x.shape()[1];
  const Tensor kept = segments.defined()
                          ? segments
                          : Tensor::zeros({samples, length}, DType::i32, x.value().device());
  const Tensor means =
      Tensor::empty({samples, 1, x.shape()[2]}, x.value().dtype(), x.value().device());
  on_device(means.device(),
            [&](auto device) { kernels::sample_means(device, x.value(), kept, Out(means)); });
  return record(means, {x}, false, [x, kept](const Tensor& dy) {
    const Tensor dx = Tensor::empty(x.shape(), dy.dtype(), dy.device());
    on_device(dy.device(),
              [&](auto device) { kernels::sample_means_backward(device, dy, kept, Out(dx)); });
    x.add_gradient(dx);
  });
}

}  // namespace skein::ops
