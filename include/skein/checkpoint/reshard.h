// From any layout to any other: where two parts of one logical tensor meet, and the copy between
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "skein/checkpoint/piece.h"
#include "skein/tensor/dtype.h"

namespace skein::checkpoint {

// A flat, row-major range of a box of a tensor: the geometry of a Piece.
struct Region {
  std::vector<int64_t> start, extent;  // the box, a range in every dim
  int64_t begin = 0, end = 0;          // flat range inside the box

  int64_t size() const { return end - begin; }
  bool operator==(const Region&) const = default;
};

Region region_of(const Piece& piece);

// Product of the dims; 1 for a scalar. Error(failure) when a dim is negative or the product passes
// 2^63.
int64_t element_count(const std::vector<int64_t>& dims);

// "[2,3]"
std::string shape_text(const std::vector<int64_t>& dims);

// Why the region is no part of a tensor of that shape; "" when it is.
std::string misfit(const Region& region, const std::vector<int64_t>& shape);

// Why the regions, each of which fits, do not cover every element of the shape exactly once; ""
// when they do.
std::string tiling_fault(const std::vector<Region>& regions, const std::vector<int64_t>& shape);

// False only when the two share no element; cheap, whatever their sizes.
bool may_overlap(const Region& a, const Region& b);

// Floating types convert to each other; any type to itself.
bool convertible(DType from, DType to);

// Copies the elements that the two regions share and returns their number. `from` and `to` point at
// the regions' first elements and need no alignment. Values round to nearest even where the type
// gets narrower.
int64_t copy_overlap(const Region& from_region, DType from_dtype, const std::byte* from,
                     const Region& to_region, DType to_dtype, std::byte* to);

}  // namespace skein::checkpoint
