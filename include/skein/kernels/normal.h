// Normal numbers that are a function of their index, for start values.
#pragma once

#include <cstdint>

#include "skein/tensor/tensor.h"

namespace skein::kernels {

// Which numbers of stream 0 under `key` a matrix takes: element (r, c) number first + r * apart +
// c, times deviation.
struct NormalRows {
  uint64_t key = 0;
  double deviation = 1;
  int64_t first = 0, apart = 0;
};

// out [R,C], on the host: devices get a copy of it, so that all begin with the same bits.
void normal(const NormalRows& rows, Out out);

}  // namespace skein::kernels
