// Weights that are no numbers: NaN or infinite ones, of which nothing good can come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/checkpoint/checkpoint.h"
#include "skein/tensor/dtype.h"

namespace skein::checkpoint {

// How many of `count` elements at `data`, which needs no alignment, are NaN or infinite.
int64_t count_non_finite(DType dtype, const std::byte* data, int64_t count);

// Counts them tensor by tensor.
class NonFiniteCounts {
 public:
  // Some elements of `tensor`. The parts of one tensor follow each other.
  void look_at(const std::string& tensor, DType dtype, const std::byte* data, int64_t count);
  // "3 values in 2 tensors are not finite: a (2), b (1)", the first five by name; "" for none.
  std::string text() const;

 private:
  std::vector<std::pair<std::string, int64_t>> found_;
};

// Of the weights of a checkpoint that has been found, and so verified. Reads all of them, a part at
// a time.
NonFiniteCounts non_finite_weights(const CheckpointInfo& info);

}  // namespace skein::checkpoint
