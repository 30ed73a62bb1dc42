// Links of several samples, and the links that a pattern of attention stands for.
#pragma once

#include <span>
#include <vector>

#include "skein/kernels/links.h"

namespace skein::test {

// What stands beside each other in a batch, sample after sample, of `rows` rows and `columns`
// columns each: rows and columns that a sample lacks have no links. On the host.
inline kernels::Links joined_links(std::span<const kernels::Links> samples, int64_t rows,
                                   int64_t columns) {
  std::vector<int64_t> starts{0}, to;
  for (int64_t b = 0; b < std::ssize(samples); ++b) {
    const kernels::Links& one = samples[static_cast<size_t>(b)];
    const int64_t before = std::ssize(to);
    for (const int32_t start : one.starts.span<int32_t>().subspan(1))
      starts.push_back(before + start);
    for (const int32_t column : one.columns.span<int32_t>()) to.push_back(b * columns + column);
    starts.resize(static_cast<size_t>((b + 1) * rows) + 1, std::ssize(to));
  }
  return kernels::make_links(starts, to, std::ssize(samples) * columns);
}

// Samples [begin, end) of such, whose links do not leave them. On the host.
inline kernels::Links links_of_samples(const kernels::Links& links, int64_t begin, int64_t end,
                                       int64_t rows, int64_t columns) {
  const int32_t* start = links.starts.data<int32_t>();
  const int32_t first = start[begin * rows], last = start[end * rows];
  std::vector<int64_t> starts, to;
  for (int64_t r = begin * rows; r <= end * rows; ++r) starts.push_back(start[r] - first);
  for (int32_t e = first; e < last; ++e)
    to.push_back(links.columns.data<int32_t>()[e] - begin * columns);
  return kernels::make_links(starts, to, (end - begin) * columns);
}

// The pairs that see each other by a pattern whose tensors are on the host: rows are the queries
// [B*T] of that head, columns the keys [B*S]; a key that counts m times is linked m times. A query
// that by self_last sees nothing but its own place is linked to the keys there, whose scores are
// kAlone in attention.
inline kernels::Links visible_links(const kernels::Pattern& pattern, int64_t samples, int64_t head,
                                    int64_t queries, int64_t keys) {
  std::vector<int64_t> starts{0}, to;
  for (int64_t b = 0; b < samples; ++b) {
    const kernels::PatternView view(pattern, b, head, queries, keys);
    const kernels::KeyRuns runs(view);
    for (int64_t i = 0; i < queries; ++i) {
      for (const kernels::KeyRun& run : runs.of(i))
        for (int64_t j = run.begin; j < run.end; ++j)
          to.insert(to.end(), run.whole ? run.times : view.times(i, j), b * keys + j);
      starts.push_back(std::ssize(to));
    }
  }
  return kernels::make_links(starts, to, samples * keys);
}

}  // namespace skein::test
