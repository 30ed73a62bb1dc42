// What the CUDA kernels share: launches, conversions, sums over warps and blocks. Internal to them.
#pragma once

#include <cuda_runtime.h>
#ifdef SKEIN_CUDA_EMULATED
#include <support/cuda_emulation.h>
#endif

#include <cstdint>

#include "skein/core/profile.h"
#include "skein/tensor/cuda.h"
#include "skein/tensor/tensor.h"

namespace skein::kernels {

constexpr int kWarp = 32;

__host__ __device__ inline int64_t pieces_of(int64_t count, int64_t part) {
  return (count + part - 1) / part;
}

inline dim3 grid_of(int64_t x, int64_t y = 1, int64_t z = 1) {
  return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y), static_cast<unsigned>(z));
}

inline cudaStream_t stream_of(Cuda on) { return static_cast<cudaStream_t>(cuda::stream(on.index)); }

#ifndef SKEIN_CUDA_EMULATED
// Shared memory a block, beyond what every GPU gives unasked.
template <class Kernel>
void ask_for_shared(const char* name, Cuda on, Kernel kernel, size_t bytes) {
  int most = 0;
  cuda::check(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, on.index),
              name);
  if (bytes > static_cast<size_t>(most))
    fail_usage(
        "{} needs {} KiB of shared memory a block and GPU {} has {} KiB; heads so wide need "
        "train.precision=bf16 there, or an A100, H100 or later of that kind",
        name, bytes >> 10, on.index, most >> 10);
  cuda::check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                   static_cast<int>(bytes)),
              name);
}

// What goes wrong in the launch itself is told with the kernel's name.
template <class... Parameters, class... Arguments>
void queue(const char* name, Cuda on, void (*kernel)(Parameters...), dim3 grid, int threads,
           size_t shared, Arguments... arguments) {
  if (shared > 48 * 1024) ask_for_shared(name, on, kernel, shared);
  kernel<<<grid, threads, shared, stream_of(on)>>>(static_cast<Parameters>(arguments)...);
  cuda::check(cudaGetLastError(), name);
}

template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 skein_shared[];
  return reinterpret_cast<T*>(skein_shared);
}
#endif

// While a profile runs, each kernel runs to its end within its span, so that spans hold what the
// device did.
class KernelSpan {
 public:
  KernelSpan(Cuda on, const char* name, double flops = 0) : span_(name, flops), on_(on) {}
  ~KernelSpan() {
    if (Profile::running()) cuda::synchronize(on_.index);
  }

 private:
  Span span_;
  Cuda on_;
};

// Queues a kernel on the device's stream.
template <class... Parameters, class... Arguments>
void launch(const char* name, Cuda on, void (*kernel)(Parameters...), dim3 grid, int threads,
            size_t shared, Arguments... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  const KernelSpan span(on, name);
  queue(name, on, kernel, grid, threads, shared, arguments...);
}

// Conversions to and from the accumulator type, with BFloat16's rounding.
__device__ inline float load(const float* p) { return *p; }
__device__ inline double load(const double* p) { return *p; }
__device__ inline float load(const BFloat16* p) {
  return __uint_as_float(static_cast<uint32_t>(p->bits) << 16);
}
__device__ inline float load(const Float16* p) {
#ifdef SKEIN_CUDA_EMULATED
  return static_cast<float>(*p);
#else
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(p->bits));
  return value;
#endif
}
__device__ inline void store(float* p, float value) { *p = value; }
__device__ inline void store(double* p, double value) { *p = value; }
__device__ inline void store(BFloat16* p, float value) {
#ifdef __CUDA_ARCH__
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(p->bits) : "f"(value));
#else
  const uint32_t word = __float_as_uint(value);
  const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
  p->bits = static_cast<uint16_t>(is_nan ? 0x7fc0u : (word + 0x7fffu + (word >> 16 & 1)) >> 16);
#endif
}

__device__ inline void store(Float16* p, float value) {
#ifdef SKEIN_CUDA_EMULATED
  *p = Float16(value);
#else
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(p->bits) : "f"(value));
#endif
}

// Sixteen bytes that move at once.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / static_cast<int>(sizeof(T));
  T at[kSize];
};

// Every row of x begins at a multiple of 16 bytes; true for what is not there.
inline bool wide_rows(const Tensor& x) {
  return !x.defined() || (reinterpret_cast<uintptr_t>(x.bytes_data()) % 16 == 0 &&
                          x.dim(-1) * size_of(x.dtype()) % 16 == 0);
}

// kCount neighbours, aligned to their size together.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Some {
  T at[kCount];
};
template <int kCount, class T>
__device__ Some<T, kCount> load_some(const T* p) {
  return *reinterpret_cast<const Some<T, kCount>*>(p);
}

inline bool aligned(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

// The elements of one row that this thread works on, 16 bytes at a time where the row allows it:
// f(column, value).
template <class T, class F>
__device__ void for_row(const T* row, int64_t count, bool wide, const F& f) {
  constexpr int kPack = Pack<T>::kSize;
  const int64_t packs = wide ? count / kPack : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    const Pack<T> pack = reinterpret_cast<const Pack<T>*>(row)[p];
#pragma unroll
    for (int k = 0; k < kPack; ++k) f(p * kPack + k, load(&pack.at[k]));
  }
  for (int64_t c = packs * kPack + threadIdx.x; c < count; c += blockDim.x) f(c, load(row + c));
}

// f(k, elements...) for the elements of packs; they are taken by value, for a pack that is copied
// as a whole is one load, and elements that are read out of memory are one each.
template <class F, class First, class... More>
__device__ void for_packs(const F& f, First first, More... more) {
#pragma unroll
  for (int k = 0; k < First::kSize; ++k) f(k, load(&first.at[k]), load(&more.at[k])...);
}
template <class T>
__device__ const Pack<T>& pack_at(const T* row, int64_t p) {
  return reinterpret_cast<const Pack<T>*>(row)[p];
}

// f(in[c]...) for the elements of rows of one type.
template <class F, class T, class... In>
__device__ void for_rows(int64_t count, bool wide, const F& f, const T* first, const In*... in) {
  constexpr int kPack = Pack<T>::kSize;
  const int64_t packs = wide ? count / kPack : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x)
    for_packs([&](int, auto... values) { f(values...); }, pack_at(first, p), pack_at(in, p)...);
  for (int64_t c = packs * kPack + threadIdx.x; c < count; c += blockDim.x)
    f(load(first + c), load(in + c)...);
}

// out[c] = f(c, in[c]...) for the elements of one row.
template <class T, class F, class... In>
__device__ void map_row(T* out, int64_t count, bool wide, const F& f, const In*... in) {
  constexpr int kPack = Pack<T>::kSize;
  const int64_t packs = wide ? count / kPack : 0;
  for (int64_t p = threadIdx.x; p < packs; p += blockDim.x) {
    Pack<T> made;
    for_packs([&](int k, auto... values) { store(&made.at[k], f(p * kPack + k, values...)); },
              pack_at(in, p)...);
    reinterpret_cast<Pack<T>*>(out)[p] = made;
  }
  for (int64_t c = packs * kPack + threadIdx.x; c < count; c += blockDim.x)
    store(out + c, f(c, load(in + c)...));
}

// Over the 32 lanes of a warp, the same bits in each.
template <class A>
__device__ A warp_sum(A value) {
  for (int offset = kWarp / 2; offset; offset /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  return value;
}
template <class A>
__device__ A warp_max(A value) {
  for (int offset = kWarp / 2; offset; offset /= 2) {
    const A other = __shfl_xor_sync(0xffffffffu, value, offset);
    value = other > value ? other : value;
  }
  return value;
}

// Over the lanes up to this one.
template <class A>
__device__ A warp_sum_until(A value) {
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const A other = __shfl_up_sync(0xffffffffu, value, offset);
    if (static_cast<int>(threadIdx.x % kWarp) >= offset) value += other;
  }
  return value;
}

// Over a block of whole warps, in a fixed order, the same bits in each thread. `parts` is shared
// memory of 32.
template <class A>
__device__ A block_sum(A value, A* parts) {
  value = warp_sum(value);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  __syncthreads();
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  return warp_sum(lane < warps ? parts[lane] : A(0));
}
template <class A>
__device__ A block_max(A value, A* parts) {
  value = warp_max(value);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  __syncthreads();
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  return warp_max(parts[lane < warps ? lane : 0]);
}

// Over the threads before this one, of integers. `parts` as above.
template <class A>
__device__ A block_sum_before(A value, A* parts) {
  const A until = warp_sum_until(value);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  __syncthreads();
  if (lane == kWarp - 1) parts[warp] = until;
  __syncthreads();
  A before = until - value;
  for (int w = 0; w < warp; ++w) before += parts[w];
  return before;
}

// out[i] = f(in[i]...), kPer elements a thread.
template <class F, class Out, class... In>
__global__ void map_packs(int64_t packs, F f, Pack<Out>* out, const Pack<In>*... in) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  Pack<Out> made;
  for_packs([&](int k, auto... values) { store(&made.at[k], f(values...)); }, in[i]...);
  out[i] = made;
}
template <class F, class Out, class... In>
__global__ void map_elements(int64_t begin, int64_t count, F f, Out* out, const In*... in) {
  const int64_t i = begin + static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) store(out + i, f(load(in + i)...));
}

// out[i] = f(in[i]...) for i < count, in accumulator types; 16 bytes at a time where all have one
// type and alignment.
template <class F, class Out, class... In>
void map(const char* name, Cuda on, int64_t count, F f, Out* out, const In*... in) {
  constexpr int kThreads = 256;
  int64_t done = 0;
  if constexpr ((std::is_same_v<Out, In> && ...)) {
    if (aligned(out) && (aligned(in) && ...)) {
      const int64_t packs = count / Pack<Out>::kSize;
      launch(name, on, map_packs<F, Out, In...>, grid_of(pieces_of(packs, kThreads)), kThreads, 0,
             packs, f, reinterpret_cast<Pack<Out>*>(out), reinterpret_cast<const Pack<In>*>(in)...);
      done = packs * Pack<Out>::kSize;
    }
  }
  launch(name, on, map_elements<F, Out, In...>, grid_of(pieces_of(count - done, kThreads)),
         kThreads, 0, done, count, f, out, in...);
}

}  // namespace skein::kernels
