#include <algorithm>

#include "skein/kernels/reduce.h"

#include "../digest.h"
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

// A block a part.
__global__ void digest_parts(const unsigned char* data, int64_t bytes, int64_t share,
                             int64_t* parts) {
  __shared__ uint64_t sums[kThreads];
  const int64_t words = (bytes + 7) / 8, begin = blockIdx.x * share;
  const int64_t end = begin + share < words ? begin + share : words;
  sums[threadIdx.x] = digest_of_range(data, bytes, begin + threadIdx.x, end, blockDim.x);
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) parts[blockIdx.x] = static_cast<int64_t>(sums[0]);
}

// A block a range.
__global__ void sum_ranges(const double* values, int64_t step, const int64_t* ranges,
                           double* sums) {
  __shared__ double parts[kWarp];
  const int64_t* range = ranges + 4 * blockIdx.x;
  const int64_t begin = range[0], end = range[1], part = range[2], first = range[3];
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    sum += values[i / part * step + first + i % part];
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void sum_in_order(int64_t count, const double* values, const int64_t* order,
                             double* out) {
  __shared__ double parts[kWarp];
  double sum = 0;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += values[order[i]];
  sum = block_sum(sum, parts);
  if (threadIdx.x == 0) *out = sum;
}

template <class Word>
__global__ void swap_blocks(int64_t a, int64_t b, int64_t words, const Word* x, Word* out) {
  const int64_t from = blockIdx.x, to = from % b * a + from / b;
  for (int64_t w = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; w < words;
       w += static_cast<int64_t>(gridDim.y) * blockDim.x)
    out[to * words + w] = x[from * words + w];
}

// Words of a row, and from one row to the next.
template <class Word>
__global__ void copy_rows(int64_t words, const Word* x, int64_t step, Word* out, int64_t out_step) {
  const int64_t row = blockIdx.x;
  for (int64_t w = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; w < words;
       w += static_cast<int64_t>(gridDim.y) * blockDim.x)
    out[row * out_step + w] = x[row * step + w];
}

// Words of a place, and from one row to the next. A move a block.
template <class Word>
__global__ void copy_row_tails(const int32_t* moves, int64_t end, int64_t words, int64_t step,
                               Word* x) {
  const int32_t* move = moves + 3 * blockIdx.x;
  const Word* from = x + move[0] * step;
  Word* to = x + move[1] * step;
  for (int64_t w = move[2] * words + static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
       w < end * words; w += static_cast<int64_t>(gridDim.y) * blockDim.x)
    to[w] = from[w];
}

template <class A>
__device__ A share_of(const int32_t* kept, int64_t length) {
  int64_t count = 0;
  for (int64_t t = 0; t < length; ++t) count += kept[t] >= 0;
  return count > 0 ? A(1) / static_cast<A>(count) : A(0);
}

// A block some columns of a sample.
template <class T>
__global__ void means_of_samples(int64_t length, int64_t columns, const T* x, const int32_t* kept,
                                 T* out) {
  const int64_t sample = blockIdx.x,
                c = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  const int32_t* keep = kept + sample * length;
  Accumulator<T> sum = 0;
  for (int64_t t = 0; t < length; ++t)
    if (keep[t] >= 0) sum += load(x + (sample * length + t) * columns + c);
  store(out + sample * columns + c, share_of<Accumulator<T>>(keep, length) * sum);
}

template <class T>
__global__ void spread_means(int64_t length, int64_t columns, const T* dy, const int32_t* kept,
                             T* dx) {
  const int64_t sample = blockIdx.x,
                c = static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  const int32_t* keep = kept + sample * length;
  const Accumulator<T> part =
      share_of<Accumulator<T>>(keep, length) * load(dy + sample * columns + c);
  for (int64_t t = 0; t < length; ++t)
    store(dx + (sample * length + t) * columns + c, keep[t] >= 0 ? part : Accumulator<T>(0));
}

dim3 samples_by_columns(const Tensor& x) {
  return grid_of(x.dim(0), pieces_of(x.dim(2), kThreads));
}

// The widest word that blocks of so many bytes at these addresses consist of.
template <class F>
void by_word(int64_t block, const std::byte* in, const std::byte* out, const F& f) {
  if (block % 16 == 0 && aligned(in) && aligned(out))
    f(Pack<float>{});
  else if (block % 4 == 0)
    f(uint32_t{});
  else
    f(uint16_t{});
}

dim3 rows_of_words(int64_t rows, int64_t words) {
  return grid_of(rows, std::clamp<int64_t>(words / (4 * kThreads), 1, 64));
}

}  // namespace

void chunk_square_sums(Cuda on, const Tensor& x, int64_t chunk, Out sums) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("chunk_square_sums", on, square_sums<T>, grid_of(sums->size()), kThreads, 0, x.size(),
           chunk, x.data<T>(), sums->data<double>());
  });
}

void digest(Cuda on, const Tensor& x, Out parts) {
  const int64_t words = (x.bytes() + 7) / 8, share = (words + parts->size() - 1) / parts->size();
  launch("digest", on, digest_parts, grid_of(parts->size()), kThreads, 0,
         reinterpret_cast<const unsigned char*>(x.bytes_data()), x.bytes(), share,
         parts->data<int64_t>());
}

void range_sums(Cuda on, const Tensor& values, const Tensor& ranges, Out sums) {
  launch("range_sums", on, sum_ranges, grid_of(sums->size()), kThreads, 0, values.data<double>(),
         values.dim(1), ranges.data<int64_t>(), sums->data<double>());
}

void ordered_sum(Cuda on, const Tensor& values, const Tensor& order, Out sum) {
  launch("ordered_sum", on, sum_in_order, dim3(1), kThreads, 0, order.size(), values.data<double>(),
         order.data<int64_t>(), sum->data<double>());
}

void sample_means(Cuda on, const Tensor& x, const Tensor& kept, Out out) {
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) {
    launch("sample_means", on, means_of_samples<T>, samples_by_columns(x), kThreads, 0, x.dim(1),
           x.dim(2), x.data<T>(), kept.data<int32_t>(), out->data<T>());
  });
}

void sample_means_backward(Cuda on, const Tensor& dy, const Tensor& kept, Out dx) {
  visit_float(dx->dtype(), [&]<class T>(TypeTag<T>) {
    launch("sample_means_backward", on, spread_means<T>, samples_by_columns(*dx), kThreads, 0,
           dx->dim(1), dx->dim(2), dy.data<T>(), kept.data<int32_t>(), dx->data<T>());
  });
}

void swap_leading(Cuda on, const Tensor& x, Out out) {
  const int64_t a = x.dim(0), b = x.dim(1);
  if (x.size() == 0) return;
  const int64_t block = x.bytes() / (a * b);
  by_word(block, x.bytes_data(), out->bytes_data(), [&](auto word) {
    using Word = decltype(word);
    const auto words = block / static_cast<int64_t>(sizeof(Word));
    launch("swap_leading", on, swap_blocks<Word>, rows_of_words(a * b, words), kThreads, 0, a, b,
           words, reinterpret_cast<const Word*>(x.bytes_data()),
           reinterpret_cast<Word*>(out->bytes_data()));
  });
}

void copy_positions(Cuda on, const Tensor& x, int64_t from, int64_t count, int64_t to, Out out) {
  if (x.size() == 0) return;
  const int64_t rows = x.dim(0), position_bytes = x.bytes() / (rows * x.dim(1));
  const std::byte* in = x.bytes_data() + from * position_bytes;
  std::byte* target = out->bytes_data() + to * position_bytes;
  by_word(position_bytes, in, target, [&](auto word) {
    using Word = decltype(word);
    const int64_t position_words = position_bytes / static_cast<int64_t>(sizeof(Word));
    launch("copy_places", on, copy_rows<Word>, rows_of_words(rows, count * position_words),
           kThreads, 0, count * position_words, reinterpret_cast<const Word*>(in),
           x.dim(1) * position_words, reinterpret_cast<Word*>(target),
           out->dim(1) * position_words);
  });
}

void copy_tails(Cuda on, const Tensor& moves, int64_t end, Out x) {
  if (x->size() == 0) return;
  const int64_t place_bytes = x->bytes() / (x->dim(0) * x->dim(1));
  by_word(place_bytes, x->bytes_data(), x->bytes_data(), [&](auto word) {
    using Word = decltype(word);
    const int64_t words = place_bytes / static_cast<int64_t>(sizeof(Word));
    launch("copy_tails", on, copy_row_tails<Word>, grid_of(moves.dim(0), 4), kThreads, 0,
           moves.data<int32_t>(), end, words, x->dim(1) * words,
           reinterpret_cast<Word*>(x->bytes_data()));
  });
}

}  // namespace skein::kernels
