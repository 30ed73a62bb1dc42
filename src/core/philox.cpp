#include "skein/core/philox.h"

#include <numbers>
#include <xxhash.h>

namespace skein {

float normal_at(uint64_t key, uint64_t stream, uint64_t index) {
  const PhiloxBlock bits = philox(key, stream, index / 4);
  const int pair = index % 4 / 2 * 2;
  const float radius = std::sqrt(-2.0f * std::log(uniform_open(bits[pair])));
  const float angle = 2.0f * std::numbers::pi_v<float> * uniform_open(bits[pair + 1]);
  return index % 2 == 0 ? radius * std::cos(angle) : radius * std::sin(angle);
}

uint64_t derive_key(uint64_t seed, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

}  // namespace skein
