#include <bit>

#include "skein/kernels/sample.h"

#include "common.cuh"
#include "keys.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 1024, kDigits = 256, kDigitBits = 8;
// Logits of a row share their leading digits; lanes count apart so that they seldom wait for each
// other.
constexpr int kCopies = 16;

using Weight = unsigned long long;

struct Scratch {
  Weight bins[kDigits * kCopies];
  Weight parts[kWarp];
  Weight before;
  int64_t id;
  uint32_t digit;
  uint32_t tops[kWarp];
};

// A block works on one.
struct Row {
  const float* logits;
  int64_t valid;
  Scratch& scratch;

  __device__ uint32_t key(int64_t id) const { return key_of(logits[id]); }
};

// A position in the order from likely to unlikely.
struct Entry {
  uint32_t key;
  int64_t id;
  __device__ bool reaches(uint32_t other_key, int64_t other_id) const {
    return other_key > key || (other_key == key && other_id <= id);
  }
};

struct One {
  __device__ Weight operator()(uint32_t) const { return 1; }
};
struct Equal {
  uint32_t key;
  __device__ Weight operator()(uint32_t other) const { return other == key; }
};
// In units of which no sum over a row overflows.
struct Share {
  double top, temperature, units;
  __device__ Weight operator()(uint32_t key) const {
    return static_cast<Weight>(
        exp((static_cast<double>(logit_of(key)) - top) / temperature) * units + 0.5);
  }
};

__device__ uint32_t largest_key(const Row& row) {
  uint32_t top = 0;
  for (int64_t id = threadIdx.x; id < row.valid; id += blockDim.x) {
    const uint32_t key = row.key(id);
    top = key > top ? key : top;
  }
  return block_max(top, row.scratch.tops);
}

template <class F>
__device__ Weight sum_until(const Row& row, const Entry& last, const F& weight) {
  Weight sum = 0;
  for (int64_t id = threadIdx.x; id < row.valid; id += blockDim.x) {
    const uint32_t key = row.key(id);
    if (last.reaches(key, id)) sum += weight(key);
  }
  return block_sum(sum, row.scratch.parts);
}

// The first id, in the order of ids, until which the weights reach `wanted`, which is above 0 and
// at most their sum.
template <class F>
__device__ int64_t id_reaching(const Row& row, Weight wanted, const F& weight) {
  const int64_t share = pieces_of(row.valid, blockDim.x), begin = threadIdx.x * share;
  const int64_t end = begin + share < row.valid ? begin + share : row.valid;
  Weight own = 0;
  for (int64_t id = begin; id < end; ++id) own += weight(row.key(id));
  Weight before = block_sum_before(own, row.scratch.parts);
  if (before < wanted && wanted <= before + own) {
    int64_t id = begin;
    while ((before += weight(row.key(id))) < wanted) ++id;
    row.scratch.id = id;
  }
  __syncthreads();
  return row.scratch.id;
}

// Adds up the weights by the digit at `shift`, of keys that have the digits of `key` above it.
template <class F>
__device__ void fill_bins(const Row& row, const Entry& last, uint32_t key, int shift,
                          const F& weight) {
  Weight* bins = row.scratch.bins;
  for (int i = threadIdx.x; i < kDigits * kCopies; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int64_t id = threadIdx.x; id < row.valid; id += blockDim.x) {
    const uint32_t other = row.key(id);
    if (static_cast<uint64_t>(other ^ key) >> (shift + kDigitBits) || !last.reaches(other, id))
      continue;
    if (const Weight own = weight(other))
      atomicAdd(bins + (other >> shift) % kDigits * kCopies + threadIdx.x % kCopies, own);
  }
  __syncthreads();
}

// The sum of the digit that stands `below` from the largest; copies are read in turn to keep off
// each other's banks.
__device__ Weight bin_sum(const Weight* bins, int below) {
  const int digit = kDigits - 1 - below;
  Weight sum = 0;
  for (int c = 0; c < kCopies; ++c) sum += bins[digit * kCopies + (c + digit) % kCopies];
  return sum;
}

struct Cut {
  Entry at;
  Weight until;  // what all to `at` weigh together
};

// The same for the entries until `last`, in the order from likely to unlikely, digit by digit.
template <class F>
__device__ Cut entry_reaching(const Row& row, const Entry& last, Weight wanted, const F& weight) {
  uint32_t key = 0;
  Weight before = 0;
  for (int shift = 32 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    fill_bins(row, last, key, shift, weight);
    const Weight own = threadIdx.x < kDigits ? bin_sum(row.scratch.bins, threadIdx.x) : 0;
    before += block_sum_before(own, row.scratch.parts);
    if (before < wanted && wanted <= before + own) {
      row.scratch.digit = kDigits - 1 - threadIdx.x;
      row.scratch.before = before;
    }
    __syncthreads();
    key |= row.scratch.digit << shift;
    before = row.scratch.before;
  }
  const Weight each = weight(key), equals = (wanted - before + each - 1) / each;
  return {{key, id_reaching(row, equals, Equal{key})}, before + equals * each};
}

__device__ Weight within(Weight wanted, Weight total) {
  return wanted < 1 ? 1 : wanted < total ? wanted : total;
}

__device__ int64_t choose(const Row& row, const SampleArguments& c, double units, double uniform) {
  const uint32_t top = largest_key(row);
  if (top == kInfinity) return kLargestIsInfinite;
  if (top == kMinusInfinity) return kAllAreMinusInfinite;
  const bool greedy = c.temperature == 0 || c.top_k == 1;
  if (top == kNaN || greedy) {
    const int64_t id = id_reaching(row, 1, Equal{top});
    return top == kNaN ? -1 - id : id;
  }
  const Share share{logit_of(top), c.temperature, units};
  const bool some = c.top_k && c.top_k < row.valid;
  Entry last{0, row.valid};
  if (some) last = entry_reaching(row, last, c.top_k, One{}).at;
  Weight total = sum_until(row, last, share);
  if (c.top_p < 1) {
    const Cut cut =
        entry_reaching(row, last, within(static_cast<Weight>(ceil(c.top_p * total)), total), share);
    last = cut.at;
    total = cut.until;
  }
  const Weight drawn = within(static_cast<Weight>(uniform * total) + 1, total);
  return some || c.top_p < 1 ? entry_reaching(row, last, drawn, share).at.id
                             : id_reaching(row, drawn, share);
}

__global__ void __launch_bounds__(kThreads)
    draw_rows(int64_t columns, int64_t valid, const float* logits, SampleArguments arguments,
              double units, const double* uniforms, int32_t* ids) {
  __shared__ Scratch scratch;
  const int64_t r = blockIdx.x;
  const double uniform = uniforms[r];
  const int64_t id =
      uniform < 0 ? 0 : choose({logits + r * columns, valid, scratch}, arguments, units, uniform);
  if (threadIdx.x == 0) ids[r] = static_cast<int32_t>(id);
}

}  // namespace

void sample(Cuda on, const Tensor& logits, int64_t valid, const SampleArguments& arguments,
            const Tensor& uniforms, Out ids) {
  const double units = 0x1p62 / static_cast<double>(std::bit_ceil(static_cast<uint64_t>(valid)));
  launch("sample", on, draw_rows, grid_of(logits.dim(0)), kThreads, 0, logits.dim(1), valid,
         logits.data<float>(), arguments, units, uniforms.data<double>(), ids->data<int32_t>());
}

}  // namespace skein::kernels
