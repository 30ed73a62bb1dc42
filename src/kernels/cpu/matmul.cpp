#include "skein/kernels/matmul.h"

#include "few_rows.h"
#include "gemm.h"
#include "parallel.h"
#include "skein/core/profile.h"

namespace skein::kernels {
namespace {

template <class T>
Strided<T> view(const Tensor& x, Transpose transpose) {
  const int64_t width = x.dim(1);
  return transpose == Transpose::no ? Strided<T>{x.data<T>(), width, 1} : Strided<T>{x.data<T>(), 1, width};
}

// How threads share the tiles of c: `rows` by `columns` pieces.
struct Grid {
  int64_t rows = 1, columns = 1;
};

int64_t pieces_of(int64_t tiles, int64_t parts) { return (tiles + parts - 1) / parts; }

// The grid whose largest piece is smallest; of equals the one that copies least.
Grid choose_grid(int64_t row_tiles, int64_t column_tiles, int64_t threads) {
  Grid best;
  int64_t best_load = row_tiles * column_tiles, best_copies = 0;
  for (int64_t down = 1; down <= threads; ++down) {
    if (threads % down) continue;
    const int64_t across = threads / down;
    const int64_t load = pieces_of(row_tiles, down) * pieces_of(column_tiles, across);
    const int64_t copies = row_tiles * across + column_tiles * down;
    if (load > best_load || (load == best_load && copies >= best_copies)) continue;
    best = {down, across};
    best_load = load;
    best_copies = copies;
  }
  return best;
}

// Decoding: threads take whole blocks of columns.
template <class Unit, class C, class T>
bool multiply_decoding(int64_t rows, int64_t columns, int64_t depth, const Strided<T>& a, const Strided<T>& b, C* c, bool load) {
  if (!takes_few_rows<Unit, T>(rows, a, b, load)) return false;
#if SKEIN_AVX512
  if constexpr (sizeof(Unit) == 4 && !std::is_same_v<Unit, TilePair>) {
    parallel_ranges(columns, std::max<int64_t>(128, pieces_of(thread_share(columns), 16) * 16), [&](int64_t begin, int64_t end) {
      multiply_few_rows<Unit, C, T>(rows, end - begin, depth, a, {b.at(0, begin), b.row, b.column}, c + begin, columns);
    });
  }
#endif
  return true;
}

// Threads take whole tiles; any split gives the same bits.
template <class Unit, class C, class T>
void multiply_parallel(int64_t rows, int64_t columns, int64_t depth, const Strided<T>& a, const Strided<T>& b, C* c,
                       bool load) {
  using Size = Tile<Unit>;
  if (multiply_decoding<Unit, C, T>(rows, columns, depth, a, b, c, load)) return;
  const double work = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  const int64_t threads = work < 5e5 ? 1 : omp_get_max_threads();
  const Grid grid = choose_grid(pieces_of(rows, Size::kRows), pieces_of(columns, Size::kColumns), threads);
  const int64_t high = pieces_of(pieces_of(rows, Size::kRows), grid.rows) * Size::kRows;
  const int64_t wide = pieces_of(pieces_of(columns, Size::kColumns), grid.columns) * Size::kColumns;
  parallel_ranges(grid.rows * grid.columns, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / grid.columns * high, j = piece % grid.columns * wide;
      if (i >= rows || j >= columns) continue;
      multiply<Unit, C, T, T>(std::min(high, rows - i), std::min(wide, columns - j), depth, {a.at(i, 0), a.row, a.column},
                              {b.at(0, j), b.row, b.column}, c + i * columns + j, columns, load);
    }
  });
}

template <class Unit, class T>
void multiply_into(const Tensor& c, int64_t depth, const Strided<T>& a, const Strided<T>& b, bool load) {
  using Sum = typename Tile<Unit>::Sum;
  if (c.dtype() == DTypeOf<Sum>::value) {
    multiply_parallel<Unit, Sum, T>(c.dim(0), c.dim(1), depth, a, b, c.data<Sum>(), load);
  } else {
    SKEIN_CHECK(!load);
    multiply_parallel<Unit, T, T>(c.dim(0), c.dim(1), depth, a, b, c.data<T>(), load);
  }
}

const char* name_of(Transpose a, Transpose b) {
  if (a == Transpose::yes) return "matmul dw";
  return b == Transpose::yes ? "matmul" : "matmul dx";
}

}  // namespace

int64_t depth_granule(Cpu, DType dtype) {
  int64_t granule = 1;
  visit_float(dtype, [&](auto tag) {
    visit_unit<typename decltype(tag)::type>([&](auto unit) { granule = Lanes<typename decltype(unit)::type>::kDepth * Lanes<typename decltype(unit)::type>::kStep; });
  });
  return granule;
}

void matmul(Cpu, const Tensor& a, Transpose transpose_a, const Tensor& b, Transpose transpose_b, const Tensor& c,
            Write write) {
  const int64_t depth = a.dim(transpose_a == Transpose::no ? 1 : 0);
  const Span span(name_of(transpose_a, transpose_b), 2.0 * static_cast<double>(c.size()) * static_cast<double>(depth));
  SKEIN_CHECK_EQ(a.dim(transpose_a == Transpose::no ? 0 : 1), c.dim(0));
  SKEIN_CHECK_EQ(b.dim(transpose_b == Transpose::no ? 1 : 0), c.dim(1));
  SKEIN_CHECK_EQ(b.dim(transpose_b == Transpose::no ? 0 : 1), depth);
  const bool load = write == Write::accumulate;
  visit_float(a.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto left = view<T>(a, transpose_a);
    const auto right = view<T>(b, transpose_b);
    visit_unit<T>([&](auto unit) { multiply_into<typename decltype(unit)::type, T>(c, depth, left, right, load); });
  });
}

}  // namespace skein::kernels
