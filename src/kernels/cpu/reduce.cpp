#include "skein/kernels/reduce.h"

#include <algorithm>
#include <vector>

#include "skein/core/profile.h"

#include "../digest.h"
#include "parallel.h"
#include "vector.h"

namespace skein::kernels {

namespace {

// Of each row that is kept in the mean of all that are.
template <class A>
A share_of(const int32_t* kept, int64_t length) {
  const int64_t count =
      std::count_if(kept, kept + length, [](int32_t number) { return number >= 0; });
  return count > 0 ? A(1) / static_cast<A>(count) : A(0);
}

}  // namespace

void chunk_square_sums(Cpu, const Tensor& x, int64_t chunk, Out sums) {
  const Span span("gradient norm", 0, static_cast<double>(x.bytes()));
  const int64_t count = x.size();
  double* to = sums->data<double>();
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    const T* in = x.data<T>();
    parallel_ranges(
        sums->size(), std::max<int64_t>(1, kElementGrain / chunk), [=](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c) {
            const T* part = in + c * chunk;
            to[c] = lane_sum<double>(std::min(chunk, count - c * chunk), [=](int64_t i) {
              const double value = static_cast<double>(load(part + i));
              return value * value;
            });
          }
        });
  });
}

void digest(Cpu, const Tensor& x, Out parts) {
  const int64_t words = (x.bytes() + 7) / 8, share = (words + parts->size() - 1) / parts->size();
  const auto* data = reinterpret_cast<const unsigned char*>(x.bytes_data());
  parallel_ranges(parts->size(), std::max<int64_t>(1, kElementGrain / std::max<int64_t>(1, share)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t part = begin; part < end; ++part)
                      parts->data<int64_t>()[part] = static_cast<int64_t>(digest_of_range(
                          data, x.bytes(), part * share, std::min(words, (part + 1) * share), 1));
                  });
}

void range_sums(Cpu, const Tensor& values, const Tensor& ranges, Out sums) {
  const double* in = values.data<double>();
  for (int64_t n = 0; n < sums->size(); ++n) {
    const int64_t* range = ranges.data<int64_t>() + 4 * n;
    const int64_t end = range[1], part = range[2], first = range[3];
    double sum = 0;
    for (int64_t i = range[0]; i < end; ++i) sum += in[i / part * values.dim(1) + first + i % part];
    sums->data<double>()[n] = sum;
  }
}

void ordered_sum(Cpu, const Tensor& values, const Tensor& order, Out sum) {
  double total = 0;
  for (int64_t at : order.span<int64_t>()) total += values.data<double>()[at];
  *sum->data<double>() = total;
}

void sample_means(Cpu, const Tensor& x, const Tensor& kept, Out out) {
  const Span span("sample means");
  const int64_t length = x.dim(1), columns = x.dim(2);
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    for (int64_t sample = 0; sample < x.dim(0); ++sample) {
      const int32_t* keep = kept.data<int32_t>() + sample * length;
      const A share = share_of<A>(keep, length);
      const T* in = x.data<T>() + sample * length * columns;
      T* to = out->data<T>() + sample * columns;
      parallel_ranges(columns, column_grain(columns), [=](int64_t begin, int64_t end) {
        std::vector<A> sums(static_cast<size_t>(end - begin), A(0));
        for (int64_t t = 0; t < length; ++t)
          if (keep[t] >= 0)
            for (int64_t c = begin; c < end; ++c)
              sums[static_cast<size_t>(c - begin)] += load(in + t * columns + c);
        for (int64_t c = begin; c < end; ++c)
          store(to + c, share * sums[static_cast<size_t>(c - begin)]);
      });
    }
  });
}

void sample_means_backward(Cpu, const Tensor& dy, const Tensor& kept, Out dx) {
  const Span span("sample means backward");
  const int64_t length = dx->dim(1), columns = dx->dim(2);
  visit_float(dx->dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    parallel_ranges(dx->dim(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin * length; row < end * length; ++row) {
        const int64_t sample = row / length;
        const A share = kept.data<int32_t>()[row] >= 0
                            ? share_of<A>(kept.data<int32_t>() + sample * length, length)
                            : A(0);
        for (int64_t c = 0; c < columns; ++c)
          store(dx->data<T>() + row * columns + c,
                share * load(dy.data<T>() + sample * columns + c));
      }
    });
  });
}

void swap_leading(Cpu, const Tensor& x, Out out) {
  const int64_t a = x.dim(0), b = x.dim(1);
  if (x.size() == 0) return;
  const int64_t block = x.bytes() / (a * b);
  const std::byte* in = x.bytes_data();
  std::byte* to = out->bytes_data();
  parallel_ranges(a * b, std::max<int64_t>(1, 65536 / block), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + (i % b * a + i / b) * block, in + i * block, block);
  });
}

void copy_positions(Cpu, const Tensor& x, int64_t from, int64_t count, int64_t to, Out out) {
  if (x.size() == 0) return;
  const int64_t rows = x.dim(0), position_bytes = x.bytes() / (rows * x.dim(1)),
                step = x.dim(1) * position_bytes, out_step = out->dim(1) * position_bytes;
  const std::byte* in = x.bytes_data() + from * position_bytes;
  std::byte* target = out->bytes_data() + to * position_bytes;
  for (int64_t row = 0; row < rows; ++row)
    std::memcpy(target + row * out_step, in + row * step,
                static_cast<size_t>(count * position_bytes));
}

void copy_tails(Cpu, const Tensor& moves, int64_t end, Out x) {
  if (x->size() == 0) return;
  const int64_t place_bytes = x->bytes() / (x->dim(0) * x->dim(1)), step = x->dim(1) * place_bytes;
  std::byte* rows = x->bytes_data();
  const int32_t* move = moves.data<int32_t>();
  parallel_ranges(moves.dim(0), 1, [=](int64_t begin, int64_t until) {
    for (int64_t m = begin; m < until; ++m) {
      const int64_t from = move[3 * m], to = move[3 * m + 1], first = move[3 * m + 2];
      std::memcpy(rows + to * step + first * place_bytes, rows + from * step + first * place_bytes,
                  static_cast<size_t>((end - first) * place_bytes));
    }
  });
}

}  // namespace skein::kernels
