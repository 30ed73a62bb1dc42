#include "skein/kernels/embedding.h"

#include "skein/core/profile.h"

#include "elements.h"
#include "position_rows.h"

namespace skein::kernels {

void embedding(Cpu, const Tensor& table, const Tensor& ids, int64_t first_id, Out out) {
  const Span span("embedding");
  const int64_t columns = table.dim(1), held = table.dim(0);
  const int32_t* id = ids.data<int32_t>();
  visit_float(table.dtype(), [&]<class T>(TypeTag<T>) {
    const T* rows = table.data<T>();
    T* to = out->data<T>();
    parallel_ranges(ids.size(), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) {
        const int64_t row = id[n] - first_id;
        if (row >= 0 && row < held)
          std::memcpy(to + n * columns, rows + row * columns, columns * sizeof(T));
        else
          std::memset(to + n * columns, 0, columns * sizeof(T));
      }
    });
  });
}

void embedding_backward(Cpu, const Tensor& dy, const Tensor& ids, int64_t first_id,
                        Out table_gradient) {
  const Span span("embedding backward");
  const int64_t columns = table_gradient->dim(1), held = table_gradient->dim(0), count = ids.size();
  const int32_t* id = ids.data<int32_t>();
  visit_float(dy.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const T* slope = dy.data<T>();
    A* sum = table_gradient->data<A>();
    parallel_ranges(columns, column_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t n = 0; n < count; ++n) {
        const int64_t row = id[n] - first_id;
        if (row < 0 || row >= held) continue;
        for (int64_t c = begin; c < end; ++c)
          sum[row * columns + c] += load(slope + n * columns + c);
      }
    });
  });
}

void sinusoid(Cpu, const Tensor& positions, Sinusoid layout, Out out) {
  const Span span("sinusoid");
  const int64_t columns = out->dim(-1), half = columns / 2, rows = positions.size();
  const bool pairs = layout == Sinusoid::pairs;
  double* const frequency = scratch<double>(Scratch::frequencies, half);
  for (int64_t i = 0; i < half; ++i)
    frequency[i] = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
  visit_float(out->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const PositionRows<A> waves(
        Scratch::turns, positions.span<int32_t>(), columns, [=](int32_t position, A* row) {
          for (int64_t i = 0; i < half; ++i) {
            const double angle = position * frequency[i];
            row[pairs ? 2 * i : i] = static_cast<A>(std::sin(angle));
            row[pairs ? 2 * i + 1 : half + i] = static_cast<A>(std::cos(angle));
          }
        });
    T* const to = out->data<T>();
    parallel_ranges(rows, row_grain(columns), [=, &waves](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        for_lanes<T>(0, columns, [=, from = waves.at(n), row = to + n * columns](auto at) {
          at.store(row, at.load(from));
        });
    });
  });
}

}  // namespace skein::kernels
