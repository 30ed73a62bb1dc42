#include "skein/ops/embedding.h"

#include "skein/core/numbers.h"
#include "skein/kernels/embedding.h"
#include "skein/kernels/reduce.h"
#include "skein/ops/math.h"

#include "by_group.h"
#include "checks.h"
#include "made.h"

namespace skein::ops {

Var embedding(const Tensor& ids, const Weight& table, int64_t first_id) {
  check_operands("embedding", {{"table", "VC", table.value()},
                               {"ids", "BT", ids, DType::i32},
                               gradient_of("table's gradient", "VC", table)});
  const Tensor& rows = table.value();
  const Tensor out = made_on_device(
      rows.like({ids.dim(0), ids.dim(1), rows.dim(1)}),
      [&](auto device, Out made) { kernels::embedding(device, rows, ids, first_id, made); });
  return record(out, {}, table.learns(), [ids, table, first_id](const Tensor& dy) {
    on_device(dy.device(), [&](auto device) {
      add_by_group({table.gradient()}, ids.dim(0),
                   [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
                     kernels::embedding_backward(device, dy.rows(begin, end), ids.rows(begin, end),
                                                 first_id, into[0]);
                   });
    });
  });
}

RowChoice choose_rows(const std::vector<int32_t>& rows, int64_t length, int64_t samples,
                      Device device) {
  const auto chosen = std::ssize(rows);
  std::vector<bool> taken(length);
  for (const int32_t row : rows) {
    check(row < length, "choose_rows: row {} is none of a sample's {}", row, length);
    check(row < 0 || !taken[row], "choose_rows: row {} is taken twice", row);
    if (row >= 0) taken[row] = true;
  }
  const Tensor there = Tensor::empty({samples * chosen}, DType::i32),
               back = Tensor::empty({samples * length}, DType::i32);
  std::fill_n(back.data<int32_t>(), back.size(), -1);
  for (int64_t n = 0; n < samples * chosen; ++n) {
    const int32_t row = rows[n % chosen];
    const int64_t from = row < 0 ? -1 : n / chosen * length + row;
    there.data<int32_t>()[n] = narrow<int32_t>(from);
    if (from >= 0) back.data<int32_t>()[from] = narrow<int32_t>(n);
  }
  return {there.to(device), back.to(device)};
}

Var take_rows(const Var& x, const RowChoice& choice) {
  check_operands("take_rows", {{"x", "BTC", x.value()},
                               {"rows", "M", choice.rows, DType::i32},
                               {"back", "N", choice.back, DType::i32}});
  const int64_t samples = x.shape()[0], rows = samples * x.shape()[1];
  const int64_t uses = rows > 0 ? choice.back.size() / rows : 1;
  check(uses > 0 && choice.back.size() == uses * rows && choice.rows.size() % samples == 0,
        "take_rows: back must have as many values as x has rows, {}, or a multiple of that, and "
        "rows a multiple of {} samples, not {} and {}",
        rows, samples, choice.back.size(), choice.rows.size());
  const auto taken = [](const Tensor& from, const Tensor& rows, const Shape& shape) {
    return made_on_device(from.like(shape), [&](auto device, Out out) {
      kernels::embedding(device, from.reshape({-1, from.dim(-1)}), rows, 0, out);
    });
  };
  const Shape shape{samples, choice.rows.size() / samples, x.shape()[2]};
  return record(taken(x.value(), choice.rows, shape), {x}, false,
                [x, uses, rows, back = choice.back, taken](const Tensor& dy) {
                  for (int64_t use = 0; use < uses; ++use)
                    x.add_gradient(taken(dy, back.flat(use * rows, rows), x.shape()));
                });
}

Var take_places(const Var& x, const data::Batch& batch) {
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
  return take_rows(x, {batch.place_rows, batch.row_places});
}

namespace {

// Positions [from, from + count) of x [B,T,C].
Tensor positions_of(const Tensor& x, int64_t from, int64_t count) {
  return made_on_device(x.like({x.dim(0), count, x.dim(2)}), [&](auto device, Out out) {
    kernels::copy_positions(device, x, from, count, 0, out);
  });
}

}  // namespace

Var prepend(const Weight& table, const Var& x) {
  check_operands("prepend", {{"x", "BTC", x.value()},
                             {"table", "RC", table.value()},
                             gradient_of("table's gradient", "RC", table)});
  check(table.value().dim(0) == 1, "prepend: table must have 1 row, not {}: table {}",
        table.value().dim(0), table.value().shape());
  const int64_t samples = x.shape()[0], length = x.shape()[1];
  const Tensor ids = Tensor::zeros({samples, 1}, DType::i32, x.value().device());
  const Tensor made = made_on_device(
      x.value().like({samples, length + 1, x.shape()[2]}), [&](auto device, Out out) {
        const Tensor first = x.value().like({samples, 1, x.shape()[2]});
        kernels::embedding(device, table.value(), ids, 0, Out(first));
        kernels::copy_positions(device, first, 0, 1, 0, out);
        kernels::copy_positions(device, x.value(), 0, length, 1, out);
      });
  return record(made, {x}, table.learns(), [x, table, ids, length](const Tensor& dy) {
    x.add_gradient(positions_of(dy, 1, length));
    if (!table.learns()) return;
    const Tensor first = positions_of(dy, 0, 1);
    on_device(dy.device(), [&](auto device) {
      add_by_group({table.gradient()}, ids.dim(0),
                   [&](int64_t begin, int64_t end, const std::vector<Out>& into) {
                     kernels::embedding_backward(device, first.rows(begin, end),
                                                 ids.rows(begin, end), 0, into[0]);
                   });
    });
  });
}

Var repeat_rows(const Var& x, int64_t times) {
  check_operands("repeat_rows", {{"x", "MC", x.value()}});
  SKEIN_CHECK(times > 0);
  const int64_t rows = x.shape()[0], width = x.shape()[1];
  const Tensor from = Tensor::empty({rows * times}, DType::i32);
  for (int64_t i = 0; i < rows * times; ++i) from.data<int32_t>()[i] = narrow<int32_t>(i / times);
  const Tensor ids = from.to(x.value().device());
  const Tensor made = made_on_device(
      x.value().like({rows * times, width}),
      [&](auto device, Out out) { kernels::embedding(device, x.value(), ids, 0, out); });
  return record(made, {x}, false, [x, ids](const Tensor& dy) {
    const Tensor sums = Tensor::zeros(x.shape(), gradient_dtype(dy.dtype()), dy.device());
    on_device(dy.device(),
              [&](auto device) { kernels::embedding_backward(device, dy, ids, 0, Out(sums)); });
    x.add_gradient(converted(sums, dy.dtype()));
  });
}

Var positions(const Var& x, int64_t first, int64_t count) {
  check_operands("positions", {{"x", "BTC", x.value()}});
  check(first >= 0 && count > 0 && first + count <= x.shape()[1],
        "positions: {} of them from {} on are not among x's {}: x {}", count, first, x.shape()[1],
        x.shape());
  return record(positions_of(x.value(), first, count), {x}, false,
                [x, first, count](const Tensor& dy) {
                  const Tensor dx = Tensor::zeros(x.shape(), dy.dtype(), dy.device());
                  on_device(dy.device(), [&](auto device) {
                    kernels::copy_positions(device, dy, 0, count, first, Out(dx));
                  });
                  x.add_gradient(dx);
                });
}

Var append(const Var& x, const Var& y) {
  check_operands("append", {{"x", "BTC", x.value()}, {"y", "BSC", y.value()}});
  const int64_t length = x.shape()[1], behind = y.shape()[1];
  const Tensor made = made_on_device(
      x.value().like({x.shape()[0], length + behind, x.shape()[2]}), [&](auto device, Out out) {
        kernels::copy_positions(device, x.value(), 0, length, 0, out);
        kernels::copy_positions(device, y.value(), 0, behind, length, out);
      });
  return record(made, {x, y}, false, [x, y, length, behind](const Tensor& dy) {
    x.add_gradient(positions_of(dy, 0, length));
    y.add_gradient(positions_of(dy, length, behind));
  });
}

Var first_position(const Var& x) {
  check_operands("first_position", {{"x", "BTC", x.value()}});
  SKEIN_CHECK(x.shape()[1] > 0);
  return positions(x, 0, 1);
}

Tensor last_position(const Tensor& x) {
  check_operands("last_position", {{"x", "BTC", x}});
  check(x.dim(1) > 0, "last_position: there must be 1 position or more: x {}", x.shape());
  return positions_of(x, x.dim(1) - 1, 1);
}

Var sample_means(const Var& x, const Tensor& segments) {
  check_operands("sample_means",
                 {{"x", "BTC", x.value()}, optional({"segments", "BT", segments, DType::i32})});
  const int64_t samples = x.shape()[0], length = x.shape()[1];
  const Tensor kept = segments.defined()
                          ? segments
                          : Tensor::zeros({samples, length}, DType::i32, x.value().device());
  const Tensor means = made_on_device(
      x.value().like({samples, 1, x.shape()[2]}),
      [&](auto device, Out out) { kernels::sample_means(device, x.value(), kept, out); });
  return record(means, {x}, false, [x, kept](const Tensor& dy) {
    x.add_gradient(made_on_device(dy.like(x.shape()), [&](auto device, Out dx) {
      kernels::sample_means_backward(device, dy, kept, dx);
    }));
  });
}

}  // namespace skein::ops
