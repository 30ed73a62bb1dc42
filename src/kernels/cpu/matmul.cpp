#include "skein/kernels/matmul.h"

#include "gemm.h"
#include "parallel.h"

namespace skein::kernels {
namespace {

template <class T>
Strided<T> view(const Tensor& x, Transpose transpose) {
  const int64_t width = x.dim(1);
  return transpose == Transpose::no ? Strided<T>{x.data<T>(), width, 1} : Strided<T>{x.data<T>(), 1, width};
}

// Threads split the longer side in whole tiles; any split gives the same bits.
template <class C, class T>
void multiply_parallel(int64_t rows, int64_t columns, int64_t depth, const Strided<T>& a, const Strided<T>& b, C* c,
                       bool load) {
  using A = Accumulator<T>;
  const double work = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  const int64_t threads = work < 1e6 ? 1 : omp_get_max_threads();
  const bool by_rows = rows > columns;
  const int64_t tile = by_rows ? Tile<A>::kRows : Tile<A>::kColumns;
  const int64_t extent = by_rows ? rows : columns;
  const int64_t tiles = (extent + tile - 1) / tile;
  const int64_t grain = std::max<int64_t>(1, (tiles + threads - 1) / threads) * tile;
  parallel_ranges(extent, grain, [&](int64_t begin, int64_t end) {
    if (by_rows)
      multiply<C, A, T, T>(end - begin, columns, depth, {a.at(begin, 0), a.row, a.column}, b, c + begin * columns,
                           columns, load);
    else
      multiply<C, A, T, T>(rows, end - begin, depth, a, {b.at(0, begin), b.row, b.column}, c + begin, columns, load);
  });
}

}  // namespace

void matmul(Cpu, const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b, const Tensor& c,
            Write write) {
  const int64_t rows = c.dim(0), columns = c.dim(1);
  const int64_t depth = a.dim(transpose_a == Transpose::no ? 1 : 0);
  SKEIN_CHECK_EQ(a.dim(transpose_a == Transpose::no ? 0 : 1), rows);
  SKEIN_CHECK_EQ(b.dim(transpose_b == Transpose::no ? 1 : 0), columns);
  SKEIN_CHECK_EQ(b.dim(transpose_b == Transpose::no ? 0 : 1), depth);
  const bool load = write == Write::accumulate;
  visit_float(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = Accumulator<T>;
    const auto left = view<T>(a, transpose_a);
    const auto right = view<T>(b, transpose_b);
    if (c.dtype() == DTypeOf<A>::value) {
      multiply_parallel<A, T>(rows, columns, depth, left, right, c.data<A>(), load);
    } else {
      SKEIN_CHECK(!load);
      multiply_parallel<T, T>(rows, columns, depth, left, right, c.data<T>(), load);
    }
  });
}

}  // namespace skein::kernels
