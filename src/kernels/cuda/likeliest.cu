#include <limits>

#include "skein/kernels/likeliest.h"

#include "common.cuh"
#include "keys.cuh"

namespace skein::kernels {
namespace {

constexpr int kThreads = 1024, kFew = 256;

using Weight = unsigned long long;

// A row a block.
__global__ void __launch_bounds__(kThreads)
    weigh_rows(int64_t columns, int64_t valid, const float* logits, const float* maximum,
               double units, int64_t* weights) {
  __shared__ Weight parts[kWarp];
  const float* row = logits + blockIdx.x * columns;
  const double top = maximum[blockIdx.x];
  Weight sum = 0, bad = 0;  // the first NaN is the greatest `bad`
  for (int64_t c = threadIdx.x; c < valid; c += blockDim.x) {
    const float logit = row[c];
    if (logit != logit) {
      const Weight before = static_cast<Weight>(valid - c);
      bad = before > bad ? before : bad;
    } else if (isfinite(top)) {
      sum += static_cast<Weight>(exp(static_cast<double>(logit) - top) * units + 0.5);
    }
  }
  sum = block_sum(sum, parts);
  bad = block_max(bad, parts);
  if (threadIdx.x == 0)
    weights[blockIdx.x] =
        bad ? -1 - (valid - static_cast<int64_t>(bad)) : static_cast<int64_t>(sum);
}

__global__ void forbid_places(int64_t count, const int64_t* places, float least, float* logits) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) logits[places[i]] = least;
}

// Greater for the likelier, of equal logits for the lower column; 0 where there is none.
__device__ Weight rank_of(float logit, int64_t column) {
  const uint32_t key = key_of(logit);
  return key == kMinusInfinity ? 0
                               : static_cast<Weight>(key) << 32 | ~static_cast<uint32_t>(column);
}

// A row a block, and a pass over it for each of the few that are wanted: rows stay in the cache.
__global__ void __launch_bounds__(kThreads)
    find_likeliest(int64_t columns, int64_t valid, const float* logits, int64_t count, float least,
                   int32_t* ids, float* found) {
  __shared__ Weight parts[kWarp];
  const float* row = logits + blockIdx.x * columns;
  Weight last = ~Weight{0};
  for (int64_t k = 0; k < count; ++k) {
    Weight best = 0;
    for (int64_t c = threadIdx.x; c < valid; c += blockDim.x) {
      const Weight rank = rank_of(row[c], c);
      if (rank < last && rank > best) best = rank;
    }
    last = block_max(best, parts);
    if (threadIdx.x == 0) {
      const auto column = static_cast<int32_t>(~static_cast<uint32_t>(last));
      ids[blockIdx.x * count + k] = last ? column : -1;
      found[blockIdx.x * count + k] = last ? row[column] : least;
    }
  }
}

}  // namespace

void row_weights(Cuda on, const Tensor& logits, int64_t valid, const Tensor& maximum, double units,
                 Out weights) {
  launch("row_weights", on, weigh_rows, grid_of(logits.dim(0)), kThreads, 0, logits.dim(1), valid,
         logits.data<float>(), maximum.data<float>(), units, weights->data<int64_t>());
}

void forbid(Cuda on, const Tensor& places, Out logits) {
  launch("forbid", on, forbid_places, grid_of(pieces_of(places.size(), kFew)), kFew, 0,
         places.size(), places.data<int64_t>(), -std::numeric_limits<float>::infinity(),
         logits->data<float>());
}

void likeliest(Cuda on, const Tensor& logits, int64_t valid, Out columns, Out found) {
  launch("likeliest", on, find_likeliest, grid_of(logits.dim(0)), kThreads, 0, logits.dim(1), valid,
         logits.data<float>(), found->dim(1), -std::numeric_limits<float>::infinity(),
         columns->data<int32_t>(), found->data<float>());
}

}  // namespace skein::kernels
