// Enough of CUDA to run the kernels' sources on a CPU, for tests where there is no GPU: the threads
// of a block are fibers that switch at barriers and shuffles; blocks run one after the other. Slow,
// and blind to races and to what memory costs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <math.h>

#include "skein/tensor/device.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __launch_bounds__(...)
#define __grid_constant__

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  explicit dim3(unsigned x, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

namespace skein::emulation {

struct Index {
  unsigned x, y, z;
};
extern Index thread_index, block_index;
extern dim3 block_size, grid_size;

void run(int device, const char* name, dim3 grid, int threads, size_t shared,
         const std::function<void()>& body);
void wait_for_block();
// Leaves 8 bytes of this lane where its warp finds them and waits until all lanes have; returns
// those of `lane`.
uint64_t exchange(uint64_t own, int lane);
// Leaves what this lane has; those of all 32 lanes, kLaneBytes apart, until the second call after
// this one.
constexpr size_t kLaneBytes = 32;
const char* exchange_all(const void* own, size_t bytes);
char* shared_memory();

}  // namespace skein::emulation

#define threadIdx ::skein::emulation::thread_index
#define blockIdx ::skein::emulation::block_index
#define blockDim ::skein::emulation::block_size
#define gridDim ::skein::emulation::grid_size

inline void __syncthreads() { skein::emulation::wait_for_block(); }

template <class T>
T __shfl_xor_sync(unsigned, T value, int offset) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = skein::emulation::exchange(
      bits, static_cast<int>(skein::emulation::thread_index.x % 32) ^ offset);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <class T>
T __shfl_sync(unsigned, T value, int lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = skein::emulation::exchange(bits, lane);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}
template <class T>
T __shfl_up_sync(unsigned, T value, int offset) {
  const int lane = static_cast<int>(skein::emulation::thread_index.x % 32);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = skein::emulation::exchange(bits, lane < offset ? lane : lane - offset);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline void __syncwarp() { skein::emulation::exchange(0, 0); }
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }

template <class T>
unsigned __match_any_sync(unsigned, T value) {
  const char* all = skein::emulation::exchange_all(&value, sizeof(T));
  unsigned equals = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    equals |=
        unsigned{std::memcmp(all + lane * skein::emulation::kLaneBytes, &value, sizeof(T)) == 0}
        << lane;
  return equals;
}

template <class T>
T atomicAdd(T* at, T value) {
  const T before = *at;
  *at += value;
  return before;
}

inline float __uint_as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline uint32_t __float_as_uint(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

namespace skein::kernels {

template <class... Parameters, class... Arguments>
void queue(const char* name, Cuda on, void (*kernel)(Parameters...), dim3 grid, int threads,
           size_t shared, Arguments... arguments) {
  emulation::run(on.index, name, grid, threads, shared,
                 [=] { kernel(static_cast<Parameters>(arguments)...); });
}

template <class T>
T* dynamic_shared() {
  return reinterpret_cast<T*>(emulation::shared_memory());
}

}  // namespace skein::kernels
