#include "skein/kernels/reduce.h"

#include <algorithm>

#include "common.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 256;

template <class T>
__global__ void square_sums(int64_t count, int64_t chunk, const T* x, double* sums) {
  __shared__ double parts[kWarp];
  const int64_t begin = blockIdx.x * chunk, end = begin + chunk < count ? begin + chunk : count;
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const double value = load(x + i);
    sum += value * value;
  }
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// A block a range.
__global__ void sum_ranges(const double* values, const int64_t* ranges, double* sums) {
  __shared__ double parts[kWarp];
  const int64_t begin = ranges[2 * blockIdx.x], end = ranges[2 * blockIdx.x + 1];
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) sum += values[i];
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void sum_in_order(int64_t count, const double* values, const int64_t* order, double* out) {
  __shared__ double parts[kWarp];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += values[order[i]];
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) *out = sum;
}

template <class Word>
__global__ void swap_blocks(int64_t a, int64_t b, int64_t words, const Word* x, Word* out) {
  const int64_t from = blockIdx.x, to = from % b * a + from / b;
  for (int64_t w = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; w < words; w += static_cast<int64_t>(gridDim.y) * blockDim.x)
    out[to * words + w] = x[from * words + w];
}

// Words of a row, and from one row to the next.
template <class Word>
__global__ void copy_rows(int64_t words, const Word* x, int64_t step, Word* out, int64_t out_step) {
  const int64_t row = blockIdx.x;
  for (int64_t w = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; w < words; w += static_cast<int64_t>(gridDim.y) * blockDim.x)
    out[row * out_step + w] = x[row * step + w];
}

// The widest word that blocks of so many bytes at these places consist of.
template <class F>
void by_word(int64_t block, const std::byte* in, const std::byte* out, const F& f) {
  if (block % 16 == 0 && aligned(in) && aligned(out)) f(Pack<float>{});
  else if (block % 4 == 0) f(uint32_t{});
  else f(uint16_t{});
}

dim3 rows_of_words(int64_t rows, int64_t words) {
  return dim3(static_cast<unsigned>(rows), static_cast<unsigned>(std::clamp<int64_t>(words / (4 * kThreads), 1, 64)));
}

}  // namespace

void chunk_square_sums(Cuda on, const Tensor& x, int64_t chunk, const Tensor& sums) {
  visit_float(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("chunk_square_sums", on, square_sums<T>, dim3(static_cast<unsigned>(sums.size())), kThreads, 0, x.size(), chunk, x.data<T>(),
           sums.data<double>());
  });
}

void range_sums(Cuda on, const Tensor& values, const Tensor& ranges, const Tensor& sums) {
  launch("range_sums", on, sum_ranges, dim3(static_cast<unsigned>(sums.size())), kThreads, 0, values.data<double>(), ranges.data<int64_t>(),
         sums.data<double>());
}

void ordered_sum(Cuda on, const Tensor& values, const Tensor& order, const Tensor& sum) {
  launch("ordered_sum", on, sum_in_order, dim3(1), kThreads, 0, order.size(), values.data<double>(), order.data<int64_t>(), sum.data<double>());
}

void swap_leading(Cuda on, const Tensor& x, const Tensor& out) {
  const int64_t a = x.dim(0), b = x.dim(1);
  if (x.size() == 0) return;
  const int64_t block = x.bytes() / (a * b);
  by_word(block, x.bytes_data(), out.bytes_data(), [&](auto word) {
    using Word = decltype(word);
    const auto words = block / static_cast<int64_t>(sizeof(Word));
    launch("swap_leading", on, swap_blocks<Word>, rows_of_words(a * b, words), kThreads, 0, a, b, words,
           reinterpret_cast<const Word*>(x.bytes_data()), reinterpret_cast<Word*>(out.bytes_data()));
  });
}

void copy_places(Cuda on, const Tensor& x, int64_t from, int64_t count, const Tensor& out, int64_t to) {
  if (x.size() == 0) return;
  const int64_t rows = x.dim(0), place = x.bytes() / (rows * x.dim(1));
  const std::byte* in = x.bytes_data() + from * place;
  std::byte* target = out.bytes_data() + to * place;
  by_word(place, in, target, [&](auto word) {
    using Word = decltype(word);
    const int64_t of_place = place / static_cast<int64_t>(sizeof(Word));
    launch("copy_places", on, copy_rows<Word>, rows_of_words(rows, count * of_place), kThreads, 0, count * of_place, reinterpret_cast<const Word*>(in),
           x.dim(1) * of_place, reinterpret_cast<Word*>(target), out.dim(1) * of_place);
  });
}

}  // namespace skein::kernels
