#include "skein/data/samples/prefix.h"

#include <algorithm>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {

int64_t drawn_prefix(double mean, int64_t length, Draws draws) {
  const double half = std::min(mean, 1 - mean), part = mean - half + 2 * half * draws.uniform();
  const auto before = static_cast<int64_t>(part * static_cast<double>(length));
  return std::min(length, 1 + before);
}

void set_prefix(const Batch& batch, int64_t row, int64_t tokens) {
  SKEIN_CHECK(tokens >= 1 && tokens <= batch.length());
  batch.prefix.data<int32_t>()[row] = narrow<int32_t>(tokens);
  std::fill_n(row_of<float>(batch.weights, row), tokens - 1, 0.0f);
}

}  // namespace skein::data
