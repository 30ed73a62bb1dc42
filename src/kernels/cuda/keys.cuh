// Logits as whole numbers. Internal to the CUDA kernels.
#pragma once

#include "common.cuh"

namespace skein::kernels {

// Keys stand in the order of the logits; NaN above all, and equal logits have equal keys.
constexpr uint32_t kNaN = 0xffffffffu, kInfinity = 0xff800000u, kMinusInfinity = 0x007fffffu,
                   kSign = 0x80000000u;

__device__ inline uint32_t key_of(float logit) {
  if (logit != logit) return kNaN;
  const uint32_t bits = logit == 0 ? 0 : __float_as_uint(logit);
  return bits & kSign ? ~bits : bits | kSign;
}
__device__ inline float logit_of(uint32_t key) {
  return __uint_as_float(key & kSign ? key ^ kSign : ~key);
}

}  // namespace skein::kernels
