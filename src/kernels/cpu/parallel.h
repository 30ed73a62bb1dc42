// Fixed pieces of work handed to threads: the pieces never depend on how many threads there are.
#pragma once

#include <algorithm>
#include <cstdint>
#include <omp.h>

#include "skein/core/numbers.h"

namespace skein::kernels {

// Calls body(begin, end) over [0, count) in pieces of `grain`, on all threads when there is enough
// to do.
template <class Body>
void parallel_ranges(int64_t count, int64_t grain, const Body& body) {
  const int64_t pieces = pieces_of(count, grain);
  const int threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), pieces));
  if (threads <= 1) {
    for (int64_t piece = 0; piece < pieces; ++piece)
      body(piece * grain, std::min(count, (piece + 1) * grain));
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (int64_t piece = 0; piece < pieces; ++piece)
    body(piece * grain, std::min(count, (piece + 1) * grain));
}

// The piece that gives every thread one.
inline int64_t thread_share(int64_t count) {
  return std::max<int64_t>(1, (count + omp_get_max_threads() - 1) / omp_get_max_threads());
}

// Columns of a piece of a sum over rows: long runs of memory, an equal share for each thread.
inline int64_t column_grain(int64_t columns) { return (thread_share(columns) + 63) / 64 * 64; }

// Rows a piece should hold so that it is worth a thread's while.
inline int64_t row_grain(int64_t row_elements) {
  return std::max<int64_t>(1, 8192 / std::max<int64_t>(1, row_elements));
}
constexpr int64_t kElementGrain = 16384;

}  // namespace skein::kernels
