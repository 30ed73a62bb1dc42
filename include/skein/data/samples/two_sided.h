// Batches of samples with two sides: tokens of a source that an encoder reads, and of a target that
// a decoder writes.
//
// A row has the source's tokens in batch.source, and in the batch itself what the decoder is fed:
// `start`, then the labels but the last; batch.targets [B,T] are the labels, and batch.weights 1 on
// them. Several pairs of a row stand one after the other on both sides and are blind to each other:
// segments number them, and positions begin anew. Padding has segment -1, weight 0, position 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "skein/data/samples/source.h"

namespace skein::data {

struct TokenPair {
  std::vector<int32_t> source, labels;
};
using TokenPairs = std::vector<TokenPair>;  // of a row

struct TwoSidedShape {
  int64_t source_length = 0, target_length = 0;  // of each row, padding included
  int32_t start = 0;                             // what the decoder is fed before the first label
  int32_t source_pad = 0, target_pad = 0;
};

// Padding alone on both sides.
Batch padded_sides(int64_t rows, const TwoSidedShape& shape);

// Rows that fit the shape, as samples of these numbers.
Batch two_sided_batch(std::span<const TokenPairs> rows, const TwoSidedShape& shape,
                      const SampleRange& numbers);

}  // namespace skein::data
