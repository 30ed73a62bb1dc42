// philox of skein/core/philox.h on the device. Internal to the CUDA kernels.
#pragma once

#include "common.cuh"

namespace skein::kernels {

struct DeviceBlock {
  uint32_t word[4];
};
// By comparing, for a number that is not known before would put the block in memory.
__device__ inline uint32_t word_of(const DeviceBlock& block, int number) {
  const uint32_t low = number % 2 ? block.word[1] : block.word[0],
                 high = number % 2 ? block.word[3] : block.word[2];
  return number < 2 ? low : high;
}

__device__ inline DeviceBlock philox_on_device(uint64_t key, uint64_t stream, uint64_t index) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32),
           c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    const uint32_t next0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0,
                   next2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = next0;
    c2 = next2;
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace skein::kernels
