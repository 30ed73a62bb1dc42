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

Links joined_links(std::span<const Links> samples, int64_t rows, int64_t columns) {
  std::vector<int64_t> starts{0}, to;
  for (int64_t b = 0; b < std::ssize(samples); ++b) {
    const Links& one = samples[static_cast<size_t>(b)];
    require(one.row_count() <= rows && one.column_count() <= columns,
            "links: sample {} has {} rows and {} columns, and those of a batch have {} and {}", b,
            one.row_count(), one.column_count(), rows, columns);
    const int64_t before = std::ssize(to);
    for (const int32_t start : one.starts.span<int32_t>().subspan(1))
      starts.push_back(before + start);
    for (const int32_t column : one.columns.span<int32_t>()) to.push_back(b * columns + column);
    starts.resize(static_cast<size_t>((b + 1) * rows) + 1, std::ssize(to));
  }
  return make_links(starts, to, std::ssize(samples) * columns);
}

Links links_of_samples(const Links& links, int64_t begin, int64_t end, int64_t rows,
                       int64_t columns) {
  SKEIN_CHECK(0 <= begin && begin <= end && end * rows <= links.row_count());
  const int32_t* start = links.starts.data<int32_t>();
  const int32_t first = start[begin * rows], last = start[end * rows];
  std::vector<int64_t> starts, to;
  for (int64_t r = begin * rows; r <= end * rows; ++r) starts.push_back(start[r] - first);
  for (int32_t e = first; e < last; ++e)
    to.push_back(links.columns.data<int32_t>()[e] - begin * columns);
  return make_links(starts, to, (end - begin) * columns);
}

Links visible_links(const Pattern& pattern, int64_t samples, int64_t head, int64_t queries,
                    int64_t keys) {
  std::vector<int64_t> starts{0}, to;
  for (int64_t b = 0; b < samples; ++b) {
    const PatternView view(pattern, b, head, queries, keys);
    const KeyRuns runs(view);
    for (int64_t i = 0; i < queries; ++i) {
      for (const KeyRun& run : runs.of(i))
        for (int64_t j = run.begin; j < run.end; ++j)
          to.insert(to.end(), run.whole ? run.times : view.times(i, j), b * keys + j);
      starts.push_back(std::ssize(to));
    }
  }
  return make_links(starts, to, samples * keys);
}

}  // namespace skein::kernels
