// Links as they are made, and the kernels against their definitions.
#include "skein/kernels/links.h"

#include <omp.h>

#include "support/drawn_links.h"
#include "support/expect_error.h"
#include "support/sample_links.h"

namespace skein {
namespace {

using kernels::Edge;
using kernels::Links;
using test::random_tensor;
using test::Tensors;
using Numbers = std::vector<int64_t>;

Numbers ids_of(const Tensor& x) {
  const auto all = x.span<int32_t>();
  return {all.begin(), all.end()};
}

void expect_same(const Links& found, const Links& wanted) {
  EXPECT_EQ(ids_of(found.starts), ids_of(wanted.starts));
  EXPECT_EQ(ids_of(found.columns), ids_of(wanted.columns));
  EXPECT_EQ(ids_of(found.rows), ids_of(wanted.rows));
  EXPECT_EQ(ids_of(found.back_starts), ids_of(wanted.back_starts));
  EXPECT_EQ(ids_of(found.back_links), ids_of(wanted.back_links));
  EXPECT_EQ(ids_of(found.back_rows), ids_of(wanted.back_rows));
}

TEST(Links, HaveTheEdgesOfARowInTheirOrder) {
  Numbers order;
  const Links links = kernels::links_of_edges(
      std::vector<Edge>{{2, 0}, {0, 3}, {2, 2}, {0, 1}, {2, 0}}, 4, 5, &order);
  EXPECT_EQ(order, (Numbers{1, 3, 0, 2, 4}));
  EXPECT_EQ(ids_of(links.starts), (Numbers{0, 2, 2, 5, 5}));
  EXPECT_EQ(ids_of(links.columns), (Numbers{3, 1, 0, 2, 0}));
  EXPECT_EQ(ids_of(links.rows), (Numbers{0, 0, 2, 2, 2}));
  EXPECT_EQ(ids_of(links.back_starts), (Numbers{0, 2, 3, 4, 5, 5}));
  EXPECT_EQ(ids_of(links.back_links), (Numbers{2, 4, 1, 3, 0}));
  EXPECT_EQ(ids_of(links.back_rows), (Numbers{2, 2, 0, 2, 0}));
  EXPECT_EQ(links.row_count(), 4);
  EXPECT_EQ(links.column_count(), 5);
  expect_same(kernels::make_links(Numbers{0, 2, 2, 5, 5}, Numbers{3, 1, 0, 2, 0}, 5), links);
}

TEST(Links, AreRefusedWhereTheyLeadNowhere) {
  const auto refused = [](const Numbers& starts, const Numbers& columns, int64_t count,
                          const std::string& text) {
    test::expect_error(ExitCode::usage, {text},
                       [&] { kernels::make_links(starts, columns, count); });
  };
  refused({}, {}, 1, "links: there are no starts; R rows have R + 1 of them");
  refused({1, 2}, {0, 0}, 1, "links: the first start is 1 and has to be 0");
  refused({0, 2, 1}, {0, 0}, 1, "links: the start of row 2 is 1, below 2, that of the row before");
  refused({0, 1}, {0, 0}, 1, "links: the last start is 1 and there are 2 links");
  refused({0, 2}, {0, 3}, 3, "links: link 1 leads to column 3, which is none of 0 to 2");
  refused({0, 1}, {-1}, 3, "links: link 0 leads to column -1, which is none of 0 to 2");
  refused({0}, {}, int64_t{1} << 31,
          "links: there are 2147483648 columns, and 0 to 2147483647 can be counted; cut the graph");
  refused({0}, {}, -1, "links: there are -1 columns, and 0 to 2147483647 can be counted");
  test::expect_error(ExitCode::usage, {"links: edge 1 comes from row 4, which is none of 0 to 3"},
                     [] {
                       kernels::links_of_edges(std::vector<Edge>{{0, 0}, {4, 0}}, 4, 1);
                     });
  test::expect_error(ExitCode::usage, {"links: there are 2147483648 rows"},
                     [] { kernels::links_of_edges({}, int64_t{1} << 31, 1); });
}

TEST(Links, OfSamplesStandBesideEachOther) {
  const std::vector<Links> samples{test::drawn_links(1, 4, 4, 9), test::drawn_links(2, 6, 5, 0),
                                   test::drawn_links(3, 6, 6, 14)};
  const Links joined = test::joined_links(samples, 6, 6);
  EXPECT_EQ(joined.row_count(), 18);
  EXPECT_EQ(joined.column_count(), 18);
  EXPECT_EQ(joined.size(), 23);
  for (int64_t b = 0; b < 3; ++b)
    expect_same(test::links_of_samples(joined, b, b + 1, 6, 6),
                test::joined_links(std::span(samples).subspan(static_cast<size_t>(b), 1), 6, 6));
  expect_same(test::links_of_samples(joined, 1, 3, 6, 6),
              test::joined_links(std::span(samples).subspan(1), 6, 6));
}

// Weighted sums of a row in f64, by the definition.
struct Sums {
  const Links& links;
  int64_t heads, width;

  std::vector<double> gathered(const Tensor& x, const Tensor& weights) const {
    std::vector<double> made(static_cast<size_t>(links.row_count() * heads * width));
    const auto from = test::values_of(x);
    const auto weight = weights.defined() ? test::values_of(weights) : std::vector<double>();
    for (int64_t e = 0; e < links.size(); ++e)
      for (int64_t i = 0; i < heads * width; ++i) {
        const auto row = static_cast<size_t>(links.rows.data<int32_t>()[e] * heads * width + i),
                   column =
                       static_cast<size_t>(links.columns.data<int32_t>()[e] * heads * width + i);
        made[row] += (weights.defined() ? weight[static_cast<size_t>(e * heads + i / width)] : 1) *
                     from[column];
      }
    return made;
  }

  std::vector<double> dots(const Tensor& q, const Tensor& k) const {
    const auto query = test::values_of(q), key = test::values_of(k);
    std::vector<double> made(static_cast<size_t>(links.size() * heads));
    for (int64_t at = 0; at < links.size() * heads; ++at)
      for (int64_t d = 0; d < width; ++d) {
        const int64_t e = at / heads, in_row = at % heads * width + d;
        made[static_cast<size_t>(at)] +=
            query[static_cast<size_t>(links.rows.data<int32_t>()[e] * heads * width + in_row)] *
            key[static_cast<size_t>(links.columns.data<int32_t>()[e] * heads * width + in_row)];
      }
    return made;
  }
};

constexpr std::pair<int64_t, int64_t> kHeadsAndWidths[] = {
    {1, 1}, {2, 3}, {3, 8}, {2, 19}, {8, 16}};

TEST(LinkKernels, SumsAndProductsAreTheirDefinitions) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const DType sums = gradient_dtype(dtype);
    const double exact = dtype == DType::f64 ? 1e-13 : 1e-5, rounded = dtype == DType::bf16 ? 1e-2
                                                                       : dtype == DType::f16
                                                                           ? 1e-3
                                                                           : exact;
    for (const Links& links : test::various_links())
      for (const auto& [heads, width] : kHeadsAndWidths) {
        const Tensor x = random_tensor({links.column_count(), heads, width}, 1, dtype),
                     q = random_tensor({links.row_count(), heads, width}, 2, dtype),
                     w = random_tensor({links.size(), heads}, 3, sums);
        const Sums of{links, heads, width};
        for (const Tensor& weights : {w, Tensor()}) {
          const Tensor y = q.like();
          kernels::gather_sum(Cpu{}, x, links.by_row(), weights, 1, Out(y));
          test::expect_near(y, Tensor::from(of.gathered(x, weights), y.shape()), rounded, "sums");
        }
        const Tensor a = w.like();
        kernels::link_dot(Cpu{}, q, x, links, 0.5, Out(a));
        auto dots = of.dots(q, x);
        for (double& dot : dots) dot *= 0.5;
        test::expect_near(a, Tensor::from(dots, a.shape()), exact, "products");
      }
  }
}

// -inf is larger than nothing; what is no number is larger than all.
TEST(LinkKernels, TheLargestOfEachRow) {
  const Links links =
      kernels::make_links(std::vector<int64_t>{0, 3, 3, 5}, std::vector<int64_t>{0, 1, 1, 2, 3}, 4);
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from(std::vector<double>{1, -2, 3, -5, kNothing, 7, std::nan(""), 9},
                                {4, 1, 2}),
               out = Tensor::empty({3, 1, 2}, DType::f64),
               picked = out.like(out.shape(), DType::i32), dx = x.like(),
               dy = Tensor::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {3, 1, 2});
  kernels::gather_max(Cpu{}, x, links.by_row(), Out(out), Out(picked));
  EXPECT_TRUE(std::isnan(out.data<double>()[4]));
  out.data<double>()[4] = 8;
  EXPECT_EQ(test::values_of(out), (std::vector<double>{3, -2, 0, 0, 8, 9}));
  const auto first = picked.span<int32_t>();
  EXPECT_EQ(std::vector(first.begin(), first.end()), (std::vector<int32_t>{1, 0, -1, -1, 4, 4}));
  kernels::gather_max_backward(Cpu{}, dy, picked, links.by_column(), Out(dx));
  EXPECT_EQ(test::values_of(dx), (std::vector<double>{0, 2, 1, 0, 0, 0, 5, 6}));
}

TEST(LinkKernels, ASoftmaxIsThatOfEachRow) {
  constexpr double kNothing = -std::numeric_limits<double>::infinity();
  for (const Links& links : test::various_links()) {
    const int64_t heads = 3;
    const Tensor a = random_tensor({links.size(), heads}, 1, DType::f64, 30), w = a.like();
    for (int64_t i = 0; i < a.size(); i += 5) a.data<double>()[i] = kNothing;
    kernels::link_softmax(Cpu{}, a, links, Out(w));
    for (int64_t r = 0; r < links.row_count(); ++r)
      for (int64_t h = 0; h < heads; ++h) {
        const int32_t* start = links.starts.data<int32_t>() + r;
        double top = kNothing, sum = 0;
        for (int64_t e = start[0]; e < start[1]; ++e)
          top = std::max(top, a.data<double>()[e * heads + h]);
        const auto share = [&](int64_t e) {
          return top == kNothing ? 0 : std::exp(a.data<double>()[e * heads + h] - top);
        };
        for (int64_t e = start[0]; e < start[1]; ++e) sum += share(e);
        for (int64_t e = start[0]; e < start[1]; ++e)
          EXPECT_NEAR(w.data<double>()[e * heads + h], sum > 0 ? share(e) / sum : 0, 1e-14);
      }
  }
}

// Everything that a graph of so many nodes and links has, in a row.
std::vector<std::byte> all_bytes(const Links& links, DType dtype) {
  constexpr int64_t kHeads = 3, kWidth = 20;
  const Shape of_rows{links.row_count(), kHeads, kWidth},
      of_columns{links.column_count(), kHeads, kWidth}, of_links{links.size(), kHeads};
  const DType sums = gradient_dtype(dtype);
  const Tensor q = random_tensor(of_rows, 1, dtype), k = random_tensor(of_columns, 2, dtype),
               weights = random_tensor({kHeads, kWidth}, 3, dtype), a = q.like(of_links, sums),
               w = a.like(), da = a.like(), score = a.like(), y = q.like(), dk = k.like(),
               row_weights = q.like(of_rows, sums), dq = q.like(), dc = k.like(), top = q.like(),
               picked = q.like(of_rows, DType::i32), dx = k.like();
  kernels::link_dot(Cpu{}, q, k, links, 0.3, Out(a));
  kernels::link_softmax(Cpu{}, a, links, Out(w));
  kernels::gather_sum(Cpu{}, k, links.by_row(), w, 1, Out(y));
  kernels::gather_sum(Cpu{}, q, links.by_column(), w, 0.3, Out(dk));
  kernels::gather_max(Cpu{}, k, links.by_row(), Out(top), Out(picked));
  kernels::gather_max_backward(Cpu{}, q, picked, links.by_column(), Out(dx));
  kernels::link_softmax_backward(Cpu{}, w, a, links, Out(da));
  const kernels::LinkTerms terms{q, k, {}, weights, 0.2};
  kernels::link_additive(Cpu{}, terms, links, Out(score));
  kernels::link_additive_backward(Cpu{}, terms, links, da,
                                  {Out(dq), Out(dc), {}, Out(row_weights)});
  std::vector<std::byte> made;
  for (const Tensor& x : {a, w, y, dk, top, picked, dx, da, score, dq, dc, row_weights}) {
    const auto bytes = test::bytes_of(x);
    made.insert(made.end(), bytes.begin(), bytes.end());
  }
  return made;
}

TEST(LinkKernels, BitsDoNotDependOnThreads) {
  const int before = omp_get_max_threads();
  for (const Links& links :
       {test::drawn_links(1, 500, 400, 9000), test::drawn_links(2, 3, 2000, 7000)})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      omp_set_num_threads(1);
      const auto wanted = all_bytes(links, dtype);
      for (int threads : {2, 3, 7}) {
        omp_set_num_threads(threads);
        EXPECT_TRUE(all_bytes(links, dtype) == wanted) << threads;
      }
    }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace skein
