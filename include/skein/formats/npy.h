// NumPy's file of one array, version 1.0 of its format: this header, then the elements in row-major
// order.
#pragma once

#include <cstdint>
#include <string>

namespace skein::formats {

// Of a [rows,columns] array of little-endian f32. Always 128 bytes, so that it can be written again
// once the rows are counted.
std::string npy_header(int64_t rows, int64_t columns);

}  // namespace skein::formats
