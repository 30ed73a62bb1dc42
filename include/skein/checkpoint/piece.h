// How a rank names the part of a logical tensor that it holds.
//
// A logical tensor has a global name, dtype and shape. Tensor parallelism gives a rank a box of it
// (a range in every dim; whole when not split); optimizer sharding gives it a flat range of that
// box in row-major order. Any layout is a set of pieces that covers each element of each tensor
// exactly once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "skein/tensor/tensor.h"

namespace skein::checkpoint {

struct Piece {
  std::string name;  // "param/block.3.attention.q.weight", "adam_m/...", "adam_v/..."
  DType dtype = DType::f32;
  std::vector<int64_t> shape;      // of the whole logical tensor
  std::vector<int64_t> box_start;  // of the box in it
  std::vector<int64_t> box_extent;
  int64_t begin = 0, end = 0;  // flat range inside the box, row-major
  std::byte* data = nullptr;   // (end - begin) elements, on the host
  // Of a tensor on a device: its copy on the host, which is `data`; loading fills the tensor too.
  Tensor copy = {}, tensor = {};

  int64_t bytes() const { return (end - begin) * size_of(dtype); }
};

}  // namespace skein::checkpoint
