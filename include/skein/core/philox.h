// Counter-based random numbers: a pure function of key and counter, the same on every device and
// layout. Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string_view>

namespace skein {

using PhiloxBlock = std::array<uint32_t, 4>;

// 128 random bits for the 128-bit `counter` under the 64-bit `key`.
constexpr PhiloxBlock philox(uint64_t key, PhiloxBlock counter) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return counter;
}

// The block with number `index` of the stream `stream` under `key`.
constexpr PhiloxBlock philox(uint64_t key, uint64_t stream, uint64_t index) {
  return philox(key,
                PhiloxBlock{static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
                            static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)});
}

// Uniform in (0, 1]: never zero, so that its logarithm is finite.
constexpr float uniform_open(uint32_t bits) {
  return (static_cast<float>(bits >> 8) + 1.0f) * 0x1p-24f;
}

// Uniform in [0, 1) with 53 bits.
constexpr double uniform_double(uint32_t high, uint32_t low) {
  return static_cast<double>((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
}

// Standard normal number `index` of a stream (Box-Muller; four numbers a block).
float normal_at(uint64_t key, uint64_t stream, uint64_t index);
// numbers[i] = normal_at(key, stream, first + i), each block worked out once
void fill_normal(uint64_t key, uint64_t stream, uint64_t first, std::span<float> numbers);

// A key for the named thing under a user's seed.
uint64_t derive_key(uint64_t seed, std::string_view name);

}  // namespace skein
