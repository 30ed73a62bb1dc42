#include "skein/kernels/matmul.h"

#include "skein/core/profile.h"
#include "skein/kernels/memory_rules.h"

#include "few_rows.h"
#include "gemm.h"
#include "parallel.h"

namespace skein::kernels {
namespace {

template <class T>
Strided<T> view(const Tensor& x, bool transpose) {
  const int64_t width = x.dim(1);
  return transpose ? Strided<T>{x.data<T>(), 1, width} : Strided<T>{x.data<T>(), width, 1};
}

// How threads share c: in pieces of whole tiles, `high` rows by `wide` columns.
struct Grid {
  int64_t high = 0, wide = 0, cost = 0;
};

// Packing an element of an operand takes about as long as multiplying it this many times.
constexpr int64_t kCopyCost = 16;

// The grid whose largest piece takes the least time; of equals the first.
template <class Unit>
Grid choose_grid(int64_t rows, int64_t columns, int64_t threads) {
  using Size = Tile<Unit>;
  const int64_t row_tiles = pieces_of(rows, Size::kRows),
                column_tiles = pieces_of(columns, Size::kColumns);
  Grid best;
  for (int64_t down = 1; down <= threads; ++down) {
    if (threads % down) continue;
    const int64_t high = std::max<int64_t>(1, pieces_of(row_tiles, down)) * Size::kRows,
                  wide = std::max<int64_t>(1, pieces_of(column_tiles, threads / down)) *
                         Size::kColumns;
    const int64_t cost = high * wide + kCopyCost * (high + wide);
    if (best.cost == 0 || cost < best.cost) best = {high, wide, cost};
  }
  return best;
}

// Decoding: threads take whole blocks of columns.
template <class Unit, class C, class T>
bool multiply_decoding(const Product<C, T>& p) {
  if (!takes_few_rows<Unit, T>(p.size.rows, p.a, p.b, p.load)) return false;
#if SKEIN_AVX512
  if constexpr (sizeof(Unit) == 4 && !std::is_same_v<Unit, TilePair>) {
    constexpr int64_t kColumnsAtOnce = 512;
    const int64_t rows = p.size.rows, columns = p.size.columns;
    parallel_ranges(columns, std::max<int64_t>(128, rounded_up(thread_share(columns), 16)),
                    [&](int64_t begin, int64_t end) {
                      float* sums = scratch<float>(Scratch::strip, kFewRows * kColumnsAtOnce);
                      for (int64_t j = begin; j < end; j += kColumnsAtOnce) {
                        const int64_t n = std::min(kColumnsAtOnce, end - j);
                        const Product<C, T> part = p.part(0, j, rows, n);
                        multiply_few_rows<Unit, T>(part.size, part.a, part.b, sums, kColumnsAtOnce);
                        store_strip<Unit>(sums, kColumnsAtOnce, rows, n, part.c, part.c_row,
                                          part.end);
                      }
                    });
  }
#endif
  return true;
}

// The columns of b in panels of the whole depth, or null where they are not worth keeping.
template <class Unit, class C, class T>
const Unit* packed_before(const Product<C, T>& p, PackedCopies::Copy* kept) {
  if (!kept || !keeps_packed(DTypeOf<T>::value, p.size.rows)) return nullptr;
  constexpr int64_t kWidth = Tile<Unit>::kColumns;
  PackedCopies::Copy& copy = *kept;
  const int64_t panel = units<Unit>(p.size.depth) * kWidth,
                panels = pieces_of(p.size.columns, kWidth);
  const auto bytes = panels * panel * static_cast<int64_t>(sizeof(Unit));
  const int unit = std::is_same_v<Unit, TilePair> ? 2 : std::is_same_v<Unit, Pair> ? 1 : 0;
  if (copy.units.size() != bytes) {
    copy.units = Tensor::empty({bytes}, DType::u8);
    copy.fresh = false;
  }
  Unit* out = reinterpret_cast<Unit*>(copy.units.bytes_data());
  if (copy.fresh && copy.of == p.b.data && copy.unit == unit) return out;
  const Span span("pack weights");
  parallel_ranges(panels, 4, [&](int64_t begin, int64_t end) {
    pack_right<Unit, T>({p.b.at(0, begin * kWidth), p.b.row, p.b.column}, p.size.depth,
                        std::min(p.size.columns, end * kWidth) - begin * kWidth, panel,
                        out + begin * panel);
  });
  copy.of = p.b.data;
  copy.unit = unit;
  copy.fresh = true;
  return out;
}

// Threads take whole tiles; any split gives the same bits.
template <class Unit, class C, class T>
void multiply_parallel(const Product<C, T>& p, PackedCopies::Copy* copy) {
  if (multiply_decoding<Unit>(p)) return;
  const int64_t rows = p.size.rows, columns = p.size.columns;
  const double work = 2.0 * static_cast<double>(rows) * static_cast<double>(columns) *
                      static_cast<double>(p.size.depth);
  const int64_t threads = work < 5e5 ? 1 : omp_get_max_threads();
  const Grid grid = choose_grid<Unit>(rows, columns, threads);
  const int64_t across = pieces_of(columns, grid.wide), down = pieces_of(rows, grid.high);
  const Unit* ready = packed_before<Unit>(p, copy);
  const int64_t ready_step = units<Unit>(p.size.depth);
  parallel_ranges(down * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const int64_t i = piece / across * grid.high, j = piece % across * grid.wide;
      Multiplication<Unit, C, T>(
          p.part(i, j, std::min(grid.high, rows - i), std::min(grid.wide, columns - j)),
          ready ? ready + j * ready_step : nullptr)
          .run();
    }
  });
}

// What matmul was given.
struct MatmulOperands {
  const Tensor &a, &b;
  const MatmulArguments& how;
  const Tensor &c, &activated;
  int64_t depth;
};

template <class Unit, class C, class T>
void multiply_to(const MatmulOperands& x) {
  constexpr int64_t kCached = 4 << 20;
  Epilogue<C> end{nullptr, nullptr, x.how.activation,
                  !x.activated.defined() && x.c.bytes() >= kCached};
  if (x.how.bias.defined()) end.bias = x.how.bias.data<C>();
  if (x.activated.defined()) end.activated = x.activated.data<C>();
  const Product<C, T> product{{x.c.dim(0), x.c.dim(1), x.depth},
                              view<T>(x.a, x.how.transpose_a),
                              view<T>(x.b, x.how.transpose_b),
                              x.c.data<C>(),
                              x.c.dim(1),
                              x.how.accumulate,
                              end};
  // Strides do not tell how b is read: with one column they are the same both ways.
  PackedCopies* copies = x.how.copies_of_b;
  multiply_parallel<Unit>(product, !copies             ? nullptr
                                   : x.how.transpose_b ? &copies->transposed
                                                       : &copies->plain);
}

template <class Unit, class T>
void multiply_into(const MatmulOperands& x) {
  using Sum = typename Tile<Unit>::Sum;
  SKEIN_CHECK(!x.how.accumulate || x.c.dtype() == DTypeOf<Sum>::value);
  if (x.c.dtype() == DTypeOf<Sum>::value)
    multiply_to<Unit, Sum, T>(x);
  else
    multiply_to<Unit, T, T>(x);
}

const char* name_of(const MatmulArguments& how) {
  if (how.transpose_a) return "matmul dw";
  return how.transpose_b ? "matmul" : "matmul dx";
}

}  // namespace

int64_t depth_granule(Cpu, DType dtype) {
  int64_t granule = 1;
  visit_float(dtype, [&]<class T>(TypeTag<T>) {
    visit_unit<T>(
        [&]<class Unit>(TypeTag<Unit>) { granule = Lanes<Unit>::kDepth * Lanes<Unit>::kStep; });
  });
  return granule;
}

void matmul(Cpu, const Tensor& a, const Tensor& b, const MatmulArguments& arguments, Out c,
            Out activated) {
  const bool transpose_a = arguments.transpose_a, transpose_b = arguments.transpose_b;
  const int64_t depth = a.dim(transpose_a ? 0 : 1);
  const Span span(name_of(arguments),
                  2.0 * static_cast<double>(c->size()) * static_cast<double>(depth));
  SKEIN_CHECK_EQ(a.dim(transpose_a ? 1 : 0), c->dim(0));
  SKEIN_CHECK_EQ(b.dim(transpose_b ? 0 : 1), c->dim(1));
  SKEIN_CHECK_EQ(b.dim(transpose_b ? 1 : 0), depth);
  const MatmulOperands given{a, b, arguments, *c, *activated, depth};
  visit_float(a.dtype(), [&]<class T>(TypeTag<T>) {
    visit_unit<T>([&]<class Unit>(TypeTag<Unit>) { multiply_into<Unit, T>(given); });
  });
}

}  // namespace skein::kernels
