#include "skein/formats/npy.h"

#include <fmt/format.h>

namespace skein::formats {

std::string npy_header(int64_t rows, int64_t columns) {
  constexpr size_t kSize = 128, kPrefix = 10;
  std::string text =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows, columns);
  text.resize(kSize - kPrefix - 1, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(kSize - kPrefix) + '\0' + text +
         '\n';
}

}  // namespace skein::formats
