// Tensor cores on tiles in shared memory: what attention needs of them. Internal to the CUDA
// kernels.
#pragma once

#include "common.cuh"

namespace skein::kernels {

// Two neighbours of a fragment, rounded.
template <class T>
__device__ uint32_t pair_of(float low, float high) {
#ifdef __CUDA_ARCH__
  uint32_t made;
  if constexpr (std::is_same_v<T, BFloat16>)
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(made) : "f"(high), "f"(low));
  else
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(made) : "f"(high), "f"(low));
  return made;
#else
  T both[2];
  store(both, low);
  store(both + 1, high);
  uint32_t made;
  memcpy(&made, both, 4);
  return made;
#endif
}

#ifdef SKEIN_CUDA_EMULATED
template <class V>
const V& of_lane(const char* all, int lane) {
  return *reinterpret_cast<const V*>(all + static_cast<size_t>(lane) * emulation::kLaneBytes);
}
#endif

// Four 8x8 matrices of 2-byte elements: lane l names row l % 8 of matrix l / 8; made[i] is this
// lane's pair of matrix i, row lane / 4, or with kTurned column lane / 4.
template <bool kTurned, class T>
__device__ void load_matrices(const T* row, uint32_t (&made)[4]) {
#ifdef SKEIN_CUDA_EMULATED
  const char* all = emulation::exchange_all(&row, sizeof(row));
  const int lane = static_cast<int>(threadIdx.x) % kWarp, line = lane / 4, pair = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    T both[2];
    for (int e = 0; e < 2; ++e)
      both[e] = kTurned ? of_lane<const T*>(all, i * 8 + pair + e)[line]
                        : of_lane<const T*>(all, i * 8 + line)[pair + e];
    std::memcpy(&made[i], both, 4);
  }
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (kTurned)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(made[0]), "=r"(made[1]), "=r"(made[2]), "=r"(made[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(made[0]), "=r"(made[1]), "=r"(made[2]), "=r"(made[3])
                 : "r"(address)
                 : "memory");
#endif
}

// d [16,8] += a [16,16] · b [16,8], spread over the lanes as PTX says of mma.m16n8k16.
template <class T>
__device__ void multiply_add(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
#ifdef SKEIN_CUDA_EMULATED
  struct Given {
    T a[8], b[4];
  } own;
  std::memcpy(own.a, a, 16);
  std::memcpy(own.b, &b0, 4);
  std::memcpy(own.b + 2, &b1, 4);
  const char* all = emulation::exchange_all(&own, sizeof(own));
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  for (int e = 0; e < 4; ++e) {
    const int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
    for (int k = 0; k < 16; ++k) {
      const T &left =
                  of_lane<Given>(all, row % 8 * 4 + k % 8 / 2).a[row / 8 * 2 + k / 8 * 4 + k % 2],
              &right = of_lane<Given>(all, column * 4 + k % 8 / 2).b[k / 8 * 2 + k % 2];
      d[e] += load(&left) * load(&right);
    }
  }
#else
  if constexpr (std::is_same_v<T, BFloat16>)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
        "{%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

// Copies 16 bytes to shared memory while the thread goes on; zeros where there are none.
__device__ inline void copy_later(void* to, const void* from, bool there) {
#ifdef SKEIN_CUDA_EMULATED
  if (there)
    std::memcpy(to, from, 16);
  else
    std::memset(to, 0, 16);
#else
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
#endif
}
__device__ inline void end_of_copies() {
#ifndef SKEIN_CUDA_EMULATED
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Until at most the last kLeft groups of copies are under way.
template <int kLeft>
__device__ void wait_for_copies() {
#ifndef SKEIN_CUDA_EMULATED
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

// Elements from row to row of a tile of kWidth columns: rows of eight neighbours meet all banks.
template <int kWidth>
constexpr int kTilePitch = kWidth + 8;

// sums [16, kRows] += a [16, kWidth] · b [kRows, kWidth]ᵀ, both tiles in shared memory; a begins at
// its first row.
template <int kRows, int kWidth, class T>
__device__ void multiply_rows(float (&sums)[kRows / 8][4], const T* a, const T* b) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int k = 0; k < kWidth; k += 16) {
    uint32_t left[4];
    load_matrices<false>(a + lane % 16 * kPitch + k + lane / 16 * 8, left);
#pragma unroll
    for (int n = 0; n < kRows; n += 16) {
      uint32_t right[4];
      load_matrices<false>(b + (n + lane / 16 * 8 + lane % 8) * kPitch + k + lane / 8 % 2 * 8,
                           right);
      multiply_add<T>(sums[n / 8], left, right[0], right[1]);
      multiply_add<T>(sums[n / 8 + 1], left, right[2], right[3]);
    }
  }
}

// sums [16, kWidth] += weights [16, kRows], rounded to T, · b [kRows, kWidth]
template <int kRows, int kWidth, class T>
__device__ void multiply_weights(float (&sums)[kWidth / 8][4], const float (&weights)[kRows / 8][4],
                                 const T* b) {
  constexpr int kPitch = kTilePitch<kWidth>;
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int k = 0; k < kRows; k += 16) {
    const auto &near = weights[k / 8], &far = weights[k / 8 + 1];
    const uint32_t left[4] = {pair_of<T>(near[0], near[1]), pair_of<T>(near[2], near[3]),
                              pair_of<T>(far[0], far[1]), pair_of<T>(far[2], far[3])};
#pragma unroll
    for (int n = 0; n < kWidth; n += 16) {
      uint32_t right[4];
      load_matrices<true>(b + (k + lane % 16) * kPitch + n + lane / 16 * 8, right);
      multiply_add<T>(sums[n / 8], left, right[0], right[1]);
      multiply_add<T>(sums[n / 8 + 1], left, right[2], right[3]);
    }
  }
}

}  // namespace skein::kernels
