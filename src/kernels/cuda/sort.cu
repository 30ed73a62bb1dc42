#include <utility>

#include "common.cuh"
#include "sort.cuh"

namespace skein::kernels {
namespace {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits;
constexpr int kSortThreads = kDigits, kSortWarps = kSortThreads / kWarp, kSortRounds = 8;
constexpr int64_t kSortRun = kWarp * kSortRounds,
                  kSortTile = kSortWarps * kSortRun;  // keys of a warp, of a block

// counts [kDigits, tiles]: of the keys of a block's tile.
__global__ void count_digits(int64_t count, int shift, const int32_t* keys, int32_t* counts) {
  __shared__ int32_t bins[kDigits];
  bins[threadIdx.x] = 0;
  __syncthreads();
  const int64_t begin = blockIdx.x * kSortTile,
                end = begin + kSortTile < count ? begin + kSortTile : count;
  for (int64_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    atomicAdd(bins + (keys[i] >> shift) % kDigits, 1);
  __syncthreads();
  counts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x] = bins[threadIdx.x];
}

// One block: each number becomes the sum of those before it.
__global__ void add_before(int64_t count, int32_t* numbers) {
  __shared__ int32_t parts[kWarp];
  const int64_t share = pieces_of(count, blockDim.x), begin = threadIdx.x * share,
                end = begin + share < count ? begin + share : count;
  int32_t own = 0;
  for (int64_t i = begin; i < end; ++i) own += numbers[i];
  int32_t before = block_sum_before(own, parts);
  for (int64_t i = begin; i < end; ++i) {
    const int32_t number = numbers[i];
    numbers[i] = before;
    before += number;
  }
}

// In: how many keys of each digit a warp has; out: where its first one goes. starts as counts
// above, summed.
__device__ void place_warps(int32_t (&next)[kSortWarps][kDigits], const int32_t* starts) {
  int32_t start = starts[static_cast<int64_t>(threadIdx.x) * gridDim.x + blockIdx.x];
  for (int warp = 0; warp < kSortWarps; ++warp) {
    const int32_t own = next[warp][threadIdx.x];
    next[warp][threadIdx.x] = start;
    start += own;
  }
}

// Moves the keys of a tile behind those of lower digits and those before them. Without positions,
// a key's position is its index.
__global__ void move_by_digit(int64_t count, int shift, const int32_t* keys,
                              const int32_t* positions, const int32_t* starts, int32_t* keys_out,
                              int32_t* positions_out) {
  __shared__ int32_t next[kSortWarps][kDigits];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t first = blockIdx.x * kSortTile + warp * kSortRun + lane;
  for (int w = 0; w < kSortWarps; ++w) next[w][threadIdx.x] = 0;
  __syncthreads();
  for (int64_t i = first; i < first + kSortRun && i < count; i += kWarp)
    atomicAdd(&next[warp][(keys[i] >> shift) % kDigits], 1);
  __syncthreads();
  place_warps(next, starts);
  __syncthreads();
  for (int64_t i = first; i < first + kSortRun; i += kWarp) {
    const int32_t key = i < count ? keys[i] : 0,
                  digit = i < count ? (key >> shift) % kDigits : kDigits;
    const unsigned equals = __match_any_sync(0xffffffffu, digit);
    const int before = __popc(equals & ((1u << lane) - 1)), all = __popc(equals);
    const int32_t to = i < count ? next[warp][digit] + before : 0;
    __syncwarp();
    if (i < count && before == all - 1) next[warp][digit] += all;
    __syncwarp();
    if (i >= count) continue;
    keys_out[to] = key;
    positions_out[to] = positions ? positions[i] : static_cast<int32_t>(i);
  }
}

}  // namespace

Sorted sort(const char* name, Cuda on, const Tensor& keys, int64_t largest,
            const Tensor& positions) {
  const int64_t count = keys.size(), tiles = pieces_of(count, kSortTile);
  const dim3 grid = grid_of(tiles);
  const Tensor starts = keys.like({kDigits, tiles});
  Sorted from{keys, positions}, to{keys.like(), keys.like()};
  for (int shift = 0; shift == 0 || largest >> shift; shift += kDigitBits) {
    const int32_t* carried = from.positions.data_or_null<int32_t>();
    launch(name, on, count_digits, grid, kSortThreads, 0, count, shift, from.keys.data<int32_t>(),
           starts.data<int32_t>());
    launch(name, on, add_before, dim3(1), 1024, 0, starts.size(), starts.data<int32_t>());
    launch(name, on, move_by_digit, grid, kSortThreads, 0, count, shift, from.keys.data<int32_t>(),
           carried, starts.data<int32_t>(), to.keys.data<int32_t>(), to.positions.data<int32_t>());
    if (!from.positions.defined()) from.positions = keys.like();
    std::swap(from, to);
  }
  return from;
}

}  // namespace skein::kernels
