#include "skein/kernels/embedding.h"

#include "skein/core/profile.h"

#include "parallel.h"
#include "vector.h"

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
  const int64_t columns = out->dim(-1), half = columns / 2;
  const bool pairs = layout == Sinusoid::pairs;
  const int32_t* position = positions.data<int32_t>();
  visit_float(out->dtype(), [&]<class T>(TypeTag<T>) {
    T* to = out->data<T>();
    parallel_ranges(positions.size(), row_grain(columns), [=](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n)
        for (int64_t c = 0; c < columns; ++c) {
          const int64_t i = pairs ? c / 2 : c % half;
          const bool sine = pairs ? c % 2 == 0 : c < half;
          const double angle =
              position[n] * std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
          store(to + n * columns + c,
                static_cast<Accumulator<T>>(sine ? std::sin(angle) : std::cos(angle)));
        }
    });
  });
}

}  // namespace skein::kernels
