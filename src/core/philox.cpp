#include "skein/core/philox.h"

#include <numbers>
#include <xxhash.h>

namespace skein {

namespace {

std::array<float, 4> normals_of(const PhiloxBlock& bits) {
  std::array<float, 4> made;
  for (size_t pair = 0; pair < 4; pair += 2) {
    const float radius = std::sqrt(-2.0f * std::log(uniform_open(bits[pair])));
    const float angle = 2.0f * std::numbers::pi_v<float> * uniform_open(bits[pair + 1]);
    made[pair] = radius * std::cos(angle);
    made[pair + 1] = radius * std::sin(angle);
  }
  return made;
}

}  // namespace

float normal_at(uint64_t key, uint64_t stream, uint64_t index) {
  return normals_of(philox(key, stream, index / 4))[index % 4];
}

void fill_normal(uint64_t key, uint64_t stream, uint64_t first, std::span<float> numbers) {
  for (size_t i = 0; i < numbers.size();) {
    const std::array<float, 4> four = normals_of(philox(key, stream, (first + i) / 4));
    for (size_t at = (first + i) % 4; at < 4 && i < numbers.size(); ++at, ++i)
      numbers[i] = four[at];
  }
}

uint64_t derive_key(uint64_t seed, std::string_view name) {
  return XXH3_64bits_withSeed(name.data(), name.size(), seed);
}

}  // namespace skein
