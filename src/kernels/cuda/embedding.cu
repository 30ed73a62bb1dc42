#include "skein/kernels/embedding.h"

#include "columns.cuh"
#include "sort.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kPiece = 64;

template <class T>
__global__ void gather_rows(int64_t columns, int64_t held, const T* table, const int32_t* ids,
                            int64_t first_id, T* out) {
  const int64_t n = blockIdx.x, row = ids[n] - first_id;
  const bool here = row >= 0 && row < held;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x)
    store(out + n * columns + c, here ? load(table + row * columns + c) : Accumulator<T>(0));
}

// Sorted keys that are equal, from index `begin` on.
struct Run {
  int32_t begin, end;
};

// The positions that rows of the table have among the ids, sorted by row.
struct SortedPositions {
  int64_t held;         // rows of the table
  const int32_t* keys;  // the row of each, `held` where the table has none
  const int32_t* positions;
  const Run* runs;  // of each row
};

// Keys are rows of the table; ids without one get the first row that is not there.
__global__ void find_rows(int64_t count, const int32_t* ids, int64_t first_id, int64_t held,
                          int32_t* keys) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int64_t row = ids[i] - first_id;
  keys[i] = static_cast<int32_t>(row >= 0 && row < held ? row : held);
}

__global__ void find_runs(int64_t count, int64_t held, const int32_t* keys, Run* runs) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count || keys[i] == held) return;
  if (i == 0 || keys[i - 1] != keys[i]) runs[keys[i]].begin = static_cast<int32_t>(i);
  if (i + 1 == count || keys[i + 1] != keys[i]) runs[keys[i]].end = static_cast<int32_t>(i + 1);
}

template <int kWidth, class A>
__device__ void load_sums(const A* from, A (&sums)[kWidth]) {
  constexpr int kStep = kWidth < Pack<A>::kSize ? kWidth : Pack<A>::kSize;
#pragma unroll
  for (int k = 0; k < kWidth; k += kStep) {
    const Some<A, kStep> some = load_some<kStep>(from + k);
#pragma unroll
    for (int j = 0; j < kStep; ++j) sums[k + j] = some.at[j];
  }
}
template <int kWidth, class A>
__device__ void store_sums(A* to, const A (&sums)[kWidth]) {
  constexpr int kStep = kWidth < Pack<A>::kSize ? kWidth : Pack<A>::kSize;
#pragma unroll
  for (int k = 0; k < kWidth; k += kStep) {
    Some<A, kStep> some;
#pragma unroll
    for (int j = 0; j < kStep; ++j) some.at[j] = sums[k + j];
    *reinterpret_cast<Some<A, kStep>*>(to + k) = some;
  }
}

// A block an index among the sorted keys, busy where a piece of a run begins there: the first piece
// goes to the table, others to parts. Of the indices that give one quotient by kPiece, at most one
// begins a piece that is not the first.
template <int kWidth, class T>
__global__ void add_pieces(int64_t columns, SortedPositions sorted, const T* dy,
                           Accumulator<T>* table, Accumulator<T>* parts) {
  using A = Accumulator<T>;
  const int64_t i = blockIdx.x, key = sorted.keys[i];
  if (key == sorted.held) return;
  const Run run = sorted.runs[key];
  if ((i - run.begin) % kPiece) return;
  const bool first = i == run.begin;
  const int rows = static_cast<int>(run.end - i < kPiece ? run.end - i : kPiece);
  A* to = first ? table + key * columns : parts + i / kPiece * columns;
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * kWidth; c < columns;
       c += static_cast<int64_t>(blockDim.x) * kWidth) {
    A sums[kWidth] = {};
    if (first) load_sums<kWidth>(to + c, sums);
#pragma unroll 4
    for (int n = 0; n < rows; ++n) {
      const Some<T, kWidth> slopes = load_some<kWidth>(dy + sorted.positions[i + n] * columns + c);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sums[k] += load(&slopes.at[k]);
    }
    store_sums<kWidth>(to + c, sums);
  }
}

// A block looks among kPiece indices for the second piece of a run, and adds it and those after it.
template <int kWidth, class A>
__global__ void add_other_pieces(int64_t count, int64_t columns, SortedPositions sorted, A* table,
                                 const A* parts) {
  const int32_t* keys = sorted.keys;
  const Run* runs = sorted.runs;
  __shared__ int64_t found;
  if (threadIdx.x == 0) found = count;
  __syncthreads();
  const int64_t own = blockIdx.x * kPiece + threadIdx.x;
  if (threadIdx.x < kPiece && own < count && keys[own] != sorted.held &&
      own - runs[keys[own]].begin == kPiece)
    found = own;
  __syncthreads();
  if (found == count) return;
  const int64_t key = keys[found], first = found / kPiece,
                pieces = pieces_of(runs[key].end - found, kPiece);
  for (int64_t c = static_cast<int64_t>(threadIdx.x) * kWidth; c < columns;
       c += static_cast<int64_t>(blockDim.x) * kWidth) {
    A sums[kWidth], part[kWidth];
    load_sums<kWidth>(table + key * columns + c, sums);
#pragma unroll 4
    for (int64_t p = first; p < first + pieces; ++p) {
      load_sums<kWidth>(parts + p * columns + c, part);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) sums[k] += part[k];
    }
    store_sums<kWidth>(table + key * columns + c, sums);
  }
}

template <class T>
__global__ void waves(int64_t columns, bool pairs, const int32_t* positions, T* out) {
  const int64_t n = blockIdx.x, half = columns / 2;
  for (int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const int64_t i = pairs ? c / 2 : c % half;
    const bool sine = pairs ? c % 2 == 0 : c < half;
    const double angle =
        positions[n] * pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
    store(out + n * columns + c, static_cast<Accumulator<T>>(sine ? sin(angle) : cos(angle)));
  }
}

Sorted sorted_rows(const char* name, Cuda on, const Tensor& ids, int64_t first_id, int64_t held) {
  const Tensor keys = ids.like({ids.size()});
  launch(name, on, find_rows, grid_of(pieces_of(ids.size(), kThreads)), kThreads, 0, ids.size(),
         ids.data<int32_t>(), first_id, held, keys.data<int32_t>());
  return sort(name, on, keys, held);
}

}  // namespace

void embedding(Cuda on, const Tensor& table, const Tensor& ids, int64_t first_id, Out out) {
  visit_float(table.dtype(), [&]<class T>(TypeTag<T>) {
    launch("embedding", on, gather_rows<T>, grid_of(ids.size()), kThreads, 0, table.dim(1),
           table.dim(0), table.data<T>(), ids.data<int32_t>(), first_id, out->data<T>());
  });
}

void embedding_backward(Cuda on, const Tensor& dy, const Tensor& ids, int64_t first_id,
                        Out table_gradient) {
  constexpr const char* kName = "embedding_backward";
  const int64_t count = ids.size(), columns = table_gradient->dim(1), held = table_gradient->dim(0);
  if (count == 0) return;
  const Sorted rows = sorted_rows(kName, on, ids, first_id, held);
  const Tensor ranges = ids.like({held, 2});
  auto* runs = reinterpret_cast<Run*>(ranges.data<int32_t>());
  const SortedPositions sorted{held, rows.keys.data<int32_t>(), rows.positions.data<int32_t>(),
                               runs};
  launch(kName, on, find_runs, grid_of(pieces_of(count, kThreads)), kThreads, 0, count, held,
         sorted.keys, runs);
  visit_float(dy.dtype(), [&]<class T>(TypeTag<T>) {
    using A = Accumulator<T>;
    const Tensor parts = table_gradient->like({pieces_of(count, kPiece), columns});
    by_width<T>(wide_rows(dy) && wide_rows(*table_gradient), [&](auto width) {
      launch(kName, on, add_pieces<width(), T>, grid_of(count), kThreads, 0, columns, sorted,
             dy.data<T>(), table_gradient->data<A>(), parts.template data<A>());
      launch(kName, on, add_other_pieces<width(), A>, grid_of(parts.dim(0)), kThreads, 0, count,
             columns, sorted, table_gradient->data<A>(), parts.template data<A>());
    });
  });
}

void sinusoid(Cuda on, const Tensor& positions, Sinusoid layout, Out out) {
  visit_float(out->dtype(), [&]<class T>(TypeTag<T>) {
    launch("sinusoid", on, waves<T>, grid_of(positions.size()), kThreads, 0, out->dim(-1),
           layout == Sinusoid::pairs, positions.data<int32_t>(), out->data<T>());
  });
}

}  // namespace skein::kernels
