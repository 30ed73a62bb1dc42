#include "skein/data/samples/two_sided.h"

#include <algorithm>
#include <numeric>

#include "skein/core/error.h"
#include "skein/core/numbers.h"

namespace skein::data {
namespace {

// Puts tokens behind those that the row has; returns where they begin.
int64_t append(const Sequence& side, int64_t row, std::span<const int32_t> tokens,
               int32_t segment) {
  int32_t& length = side.lengths.data<int32_t>()[row];
  const int64_t begin = length, count = std::ssize(tokens);
  SKEIN_CHECK(begin + count <= side.length());
  std::ranges::copy(tokens, row_of<int32_t>(side.tokens, row, begin));
  int32_t* const positions = row_of<int32_t>(side.positions, row, begin);
  std::iota(positions, positions + count, 0);
  std::fill_n(row_of<int32_t>(side.segments, row, begin), count, segment);
  length += narrow<int32_t>(count);
  return begin;
}

}  // namespace

Batch padded_sides(int64_t rows, const TwoSidedShape& shape) {
  Batch made = padded_batch(rows, {.length = shape.target_length,
                                   .places = shape.target_length,
                                   .pad = shape.target_pad,
                                   .segments = true});
  made.places = {};  // each token of the target is one
  made.source = padded_sequence(
      rows, {.length = shape.source_length, .pad = shape.source_pad, .segments = true});
  return made;
}

Batch two_sided_batch(std::span<const TokenPairs> rows, const TwoSidedShape& shape,
                      const SampleRange& numbers) {
  const int64_t count = std::ssize(rows);
  SKEIN_CHECK_EQ(count, numbers.count);
  Batch made = padded_sides(count, shape);
  for (int64_t row = 0; row < count; ++row) {
    made.sample_ids.data<int64_t>()[row] = numbers[row];
    int32_t segment = 0;
    for (const TokenPair& pair : rows[row]) {
      append(made.source, row, pair.source, segment);
      std::vector<int32_t> fed{shape.start};
      fed.insert(fed.end(), pair.labels.begin(), pair.labels.end() - 1);
      const int64_t begin = append(made, row, fed, segment++);
      std::ranges::copy(pair.labels, row_of<int32_t>(made.targets, row, begin));
      std::fill_n(row_of<float>(made.weights, row, begin), pair.labels.size(), 1.0f);
    }
  }
  return made;
}

}  // namespace skein::data
