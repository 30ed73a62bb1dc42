// Links that are drawn: some are there twice, some lead back to their own row, and the last third
// of the rows and of the columns have none.
#pragma once

#include "skein/kernels/links.h"

#include "support/drawn_attention.h"

namespace skein::test {

inline std::vector<kernels::Edge> drawn_edges(uint64_t seed, int64_t rows, int64_t columns,
                                              int64_t count) {
  Draws draws(seed);
  const int64_t linked_rows = std::max<int64_t>(1, rows * 2 / 3),
                linked_columns = std::max<int64_t>(1, columns * 2 / 3);
  std::vector<kernels::Edge> made;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t row = draws.below(linked_rows);
    made.push_back({row, draws.below(linked_columns)});
    if (draws.one_in(3)) made.back().column = std::min(row, linked_columns - 1);
    if (draws.one_in(4)) made.back() = made[static_cast<size_t>(draws.below(std::ssize(made)))];
  }
  return made;
}

inline kernels::Links drawn_links(uint64_t seed, int64_t rows, int64_t columns, int64_t count) {
  return kernels::links_of_edges(drawn_edges(seed, rows, columns, count), rows, columns);
}

// What tests go through: a graph, two sides of unequal length, one node with and without itself, no
// links, nothing at all.
inline std::vector<kernels::Links> various_links() {
  return {drawn_links(1, 12, 12, 40), drawn_links(2, 7, 4, 19), drawn_links(3, 3, 9, 11),
          drawn_links(4, 1, 1, 2),    drawn_links(5, 1, 1, 0),  drawn_links(6, 5, 3, 0),
          drawn_links(7, 0, 0, 0)};
}

}  // namespace skein::test
