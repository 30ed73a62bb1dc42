#include "skein/kernels/links.h"

#include <limits>
#include <numeric>

#include "skein/core/numbers.h"

namespace skein::kernels {
namespace {

constexpr int64_t kMost = std::numeric_limits<int32_t>::max();

void check_count(int64_t count, const char* what) {
  require(count >= 0 && count <= kMost,
          "links: there are {} {}, and 0 to {} can be counted; cut the graph into smaller ones",
          count, what, kMost);
}

void check_starts(std::span<const int64_t> starts, int64_t links) {
  require(!starts.empty(), "links: there are no starts; R rows have R + 1 of them");
  check_count(std::ssize(starts) - 1, "rows");
  require(starts.front() == 0, "links: the first start is {} and has to be 0", starts.front());
  for (size_t r = 1; r < starts.size(); ++r)
    require(starts[r - 1] <= starts[r],
            "links: the start of row {} is {}, below {}, that of the row before it", r, starts[r],
            starts[r - 1]);
  require(starts.back() == links, "links: the last start is {} and there are {} links",
          starts.back(), links);
}

Tensor numbers(int64_t count) { return Tensor::empty({count}, DType::i32); }

// All that is made of starts and columns. A column's links rise since they are dealt in order.
Links with_columns(const Tensor& starts, const Tensor& columns, int64_t column_count) {
  const int64_t links = columns.size(), rows = starts.size() - 1;
  const Links made{starts,         columns,
                   numbers(links), Tensor::zeros({column_count + 1}, DType::i32),
                   numbers(links), numbers(links)};
  const int32_t *start = starts.data<int32_t>(), *column = columns.data<int32_t>();
  for (int64_t r = 0; r < rows; ++r)
    std::fill(made.rows.data<int32_t>() + start[r], made.rows.data<int32_t>() + start[r + 1],
              narrow<int32_t>(r));
  int32_t* back = made.back_starts.data<int32_t>();
  for (int64_t e = 0; e < links; ++e) ++back[column[e] + 1];
  std::partial_sum(back, back + column_count + 1, back);
  std::vector<int32_t> next(back, back + column_count);
  for (int64_t e = 0; e < links; ++e) {
    const int32_t at = next[static_cast<size_t>(column[e])]++;
    made.back_links.data<int32_t>()[at] = narrow<int32_t>(e);
    made.back_rows.data<int32_t>()[at] = made.rows.data<int32_t>()[e];
  }
  return made;
}

}  // namespace

Links Links::to(Device device) const {
  return {starts.to(device),      columns.to(device),    rows.to(device),
          back_starts.to(device), back_links.to(device), back_rows.to(device)};
}

Links make_links(std::span<const int64_t> starts, std::span<const int64_t> columns,
                 int64_t column_count) {
  check_count(std::ssize(columns), "links");
  check_count(column_count, "columns");
  check_starts(starts, std::ssize(columns));
  const Tensor from = numbers(std::ssize(starts)), to = numbers(std::ssize(columns));
  std::ranges::copy(starts, from.data<int32_t>());
  for (int64_t e = 0; e < to.size(); ++e) {
    const int64_t column = columns[static_cast<size_t>(e)];
    require(column >= 0 && column < column_count,
            "links: link {} leads to column {}, which is none of 0 to {}", e, column,
            column_count - 1);
    to.data<int32_t>()[e] = narrow<int32_t>(column);
  }
  return with_columns(from, to, column_count);
}

Links links_of_edges(std::span<const Edge> edges, int64_t row_count, int64_t column_count,
                     std::vector<int64_t>* order) {
  check_count(row_count, "rows");
  check_count(std::ssize(edges), "links");
  std::vector<int64_t> starts(static_cast<size_t>(row_count) + 1), columns(edges.size());
  for (const Edge& edge : edges) {
    require(edge.row >= 0 && edge.row < row_count,
            "links: edge {} comes from row {}, which is none of 0 to {}", &edge - edges.data(),
            edge.row, row_count - 1);
    ++starts[static_cast<size_t>(edge.row) + 1];
  }
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  if (order) order->resize(edges.size());
  for (size_t i = 0; i < edges.size(); ++i) {
    const auto e = static_cast<size_t>(next[static_cast<size_t>(edges[i].row)]++);
    columns[e] = edges[i].column;
    if (order) (*order)[e] = static_cast<int64_t>(i);
  }
  return make_links(starts, columns, column_count);
}

}  // namespace skein::kernels
