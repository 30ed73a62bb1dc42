// Ops over links: gradients, what a graph's results may not depend on, and what is refused.
#include "skein/ops/links.h"

#include <numeric>

#include "skein/ops/math.h"
#include "skein/ops/sample_groups.h"

#include "support/drawn_links.h"
#include "support/op_cases.h"
#include "support/sample_links.h"

namespace skein {
namespace {

using kernels::Links;
using ops::LinkEnd;
using test::check_gradients;
using test::Checked;
using test::random_tensor;

constexpr int64_t kHeads = 2, kHeadWidth = 3;

struct Sizes {
  explicit Sizes(const Links& links)
      : rows{links.row_count(), kHeads, kHeadWidth},
        columns{links.column_count(), kHeads, kHeadWidth},
        links{links.size(), kHeads} {}
  Shape rows, columns, links;
};

TEST(LinkOps, HaveTheirGradients) {
  for (const Links& links : test::various_links()) {
    const Sizes s(links);
    check_gradients([&](const Checked& at) { return ops::gather_sum(at.inputs[0], links); },
                    {s.columns});
    check_gradients([&](const Checked& at) { return ops::gather_max(at.inputs[0], links); },
                    {s.columns});
    check_gradients(
        [&](const Checked& at) { return ops::gather_sum(at.inputs[0], links, at.inputs[1]); },
        {s.columns, s.links});
    check_gradients(
        [&](const Checked& at) { return ops::link_dot(at.inputs[0], at.inputs[1], links, 0.7); },
        {s.rows, s.columns});
    check_gradients([&](const Checked& at) { return ops::link_softmax(at.inputs[0], links); },
                    {s.links});
    check_gradients(
        [&](const Checked& at) { return ops::link_product(at.inputs[0], at.inputs[1]); },
        {s.links, s.links});
    for (const auto& [end, count] :
         {std::pair{LinkEnd::row, s.rows[0]}, {LinkEnd::column, s.columns[0]}})
      check_gradients(
          [&, end = end](const Checked& at) { return ops::link_pick(at.inputs[0], links, end); },
          {{count, kHeads}});
  }
}

TEST(LinkOps, AdditiveScoresHaveTheirGradients) {
  for (const Links& links : test::various_links()) {
    const Sizes s(links);
    const Shape own{s.links[0], kHeads, kHeadWidth};
    check_gradients(
        [&](const Checked& at) {
          return ops::link_additive({at.inputs[0], at.inputs[1], at.inputs[2]}, at.weights[0],
                                    links, 0.2);
        },
        {s.rows, s.columns, own}, {{kHeads, kHeadWidth}});
    check_gradients(
        [&](const Checked& at) {
          return ops::link_additive({at.inputs[0], at.inputs[1]}, {}, links, 0.2);
        },
        {{s.rows[0], kHeads, 1}, {s.columns[0], kHeads, 1}});
    check_gradients(
        [&](const Checked& at) {
          return ops::link_additive({{}, {}, at.inputs[0]}, at.weights[0], links, 0.5);
        },
        {own}, {{kHeads, kHeadWidth}});
  }
}

// Softmax of products over links, and all gradients.
struct AttendedLinks {
  Tensor y, q, k, v, weights;
};
AttendedLinks attended(const Links& links, const Tensor& q, const Tensor& k, const Tensor& v,
                       const Tensor& dy) {
  const Var query = Var::leaf(q), key = Var::leaf(k), value = Var::leaf(v);
  const WeightMemory weights{random_tensor({q.dim(1), q.dim(2)}, 8, q.dtype()),
                             Tensor::zeros({q.dim(1), q.dim(2)}, gradient_dtype(q.dtype()))};
  const Var a = ops::add(ops::link_dot(query, key, links, 0.4),
                         ops::link_additive({query, key}, weights, links, 0.2));
  const Var y = ops::gather_sum(value, links, ops::link_softmax(a, links));
  backward(y, dy.clone());
  return {y.value(), query.gradient(), key.gradient(), value.gradient(), weights.gradient};
}

// A graph in a batch does not know the others.
TEST(LinkOps, AnotherGraphChangesNoBit) {
  constexpr int64_t kMost = 13;
  const std::vector<Links> graphs{test::drawn_links(1, 11, 11, 50),
                                  test::drawn_links(2, 13, 13, 30), test::drawn_links(3, 4, 4, 9)};
  const Links all = test::joined_links(graphs, kMost, kMost);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const auto nodes = [&](uint64_t seed) {
      return random_tensor({3 * kMost, kHeads, kHeadWidth}, seed, dtype);
    };
    const Tensor q = nodes(1), k = nodes(2), v = nodes(3), dy = nodes(4);
    const AttendedLinks together = attended(all, q, k, v, dy);
    for (int64_t b = 0; b < 3; ++b) {
      const auto own = [b](const Tensor& x) { return x.rows(b * kMost, (b + 1) * kMost).clone(); };
      const AttendedLinks alone = attended(test::links_of_samples(all, b, b + 1, kMost, kMost),
                                           own(q), own(k), own(v), own(dy));
      EXPECT_EQ(test::bytes_of(alone.y), test::bytes_of(own(together.y)));
      EXPECT_EQ(test::bytes_of(alone.q), test::bytes_of(own(together.q)));
      EXPECT_EQ(test::bytes_of(alone.k), test::bytes_of(own(together.k)));
      EXPECT_EQ(test::bytes_of(alone.v), test::bytes_of(own(together.v)));
    }
  }
}

constexpr int64_t kNodes = 9, kGraphs = 4;

// Backward of additive scores of samples [begin, end) of four graphs; adds to the weights'
// gradient.
void add_gradient_of(int64_t begin, int64_t end, const WeightMemory& weights) {
  std::vector<Links> graphs;
  for (uint64_t b = 0; b < kGraphs; ++b) graphs.push_back(test::drawn_links(b, kNodes, kNodes, 30));
  const Links all = test::joined_links(graphs, kNodes, kNodes);
  const int32_t* starts = all.starts.data<int32_t>();
  const auto nodes = [&](uint64_t seed) {
    return Var::leaf(random_tensor({kGraphs * kNodes, kHeads, kHeadWidth}, seed, DType::f32)
                         .rows(begin * kNodes, end * kNodes));
  };
  const Var a = ops::link_additive({nodes(1), nodes(2)}, weights,
                                   test::links_of_samples(all, begin, end, kNodes, kNodes), 0.2);
  backward(a, random_tensor({all.size(), kHeads}, 3, DType::f32)
                  .rows(starts[begin * kNodes], starts[end * kNodes])
                  .clone());
}

WeightMemory learning() {
  return {random_tensor({kHeads, kHeadWidth}, 8, DType::f32),
          Tensor::zeros({kHeads, kHeadWidth}, DType::f32)};
}

// Gradients of weights are added row after row, so that a batch may come in parts.
TEST(LinkOps, WeightGradientsDoNotDependOnTheCutOfABatch) {
  const auto gradient = [&](int64_t step) {
    const WeightMemory weights = learning();
    for (int64_t b = 0; b < kGraphs; b += step) add_gradient_of(b, b + step, weights);
    return test::bytes_of(weights.gradient);
  };
  EXPECT_EQ(gradient(1), gradient(4));
  EXPECT_EQ(gradient(2), gradient(4));
}

TEST(LinkOps, WeightGradientsOfGroupsAreAddedInTheTree) {
  const WeightMemory first = learning(), second = learning(), together = learning();
  add_gradient_of(0, 2, first);
  add_gradient_of(2, 4, second);
  kernels::accumulate(Cpu{}, second.gradient, Out(first.gradient));
  const ops::SampleGroups two(2);
  add_gradient_of(0, 4, together);
  EXPECT_EQ(test::bytes_of(together.gradient), test::bytes_of(first.gradient));
}

TEST(LinkOps, PermutedNodesPermuteTheResult) {
  auto edges = test::drawn_edges(5, kNodes, kNodes, 60);
  std::vector<int32_t> moved(kNodes);
  std::iota(moved.begin(), moved.end(), 0);
  std::shuffle(moved.begin(), moved.end(), std::mt19937(3));
  const auto permuted = [&](const Tensor& x) {
    const Tensor made = x.like();
    for (int64_t n = 0; n < kNodes; ++n)
      made.rows(moved[static_cast<size_t>(n)], moved[static_cast<size_t>(n)] + 1)
          .copy_from(x.rows(n, n + 1));
    return made;
  };
  const auto nodes = [](uint64_t seed) {
    return random_tensor({kNodes, kHeads, kHeadWidth}, seed);
  };
  const Tensor q = nodes(1), k = nodes(2), v = nodes(3), dy = nodes(4);
  const AttendedLinks before =
      attended(kernels::links_of_edges(edges, kNodes, kNodes), q, k, v, dy);
  for (auto& [row, column] : edges) {
    row = moved[static_cast<size_t>(row)];
    column = moved[static_cast<size_t>(column)];
  }
  const AttendedLinks after = attended(kernels::links_of_edges(edges, kNodes, kNodes), permuted(q),
                                       permuted(k), permuted(v), permuted(dy));
  test::expect_near(after.y, permuted(before.y), 1e-13, "y");
  test::expect_near(after.q, permuted(before.q), 1e-13, "q");
  test::expect_near(after.k, permuted(before.k), 1e-13, "k");
  test::expect_near(after.v, permuted(before.v), 1e-13, "v");
  test::expect_near(after.weights, before.weights, 1e-13, "weights");
}

TEST(LinkOps, ATableIsPickedFromByCategory) {
  const Links category =
      kernels::make_links(std::vector<int64_t>{0, 1, 2, 3}, std::vector<int64_t>{1, 0, 1}, 2);
  const Tensor table = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2}).to(DType::bf16),
               picked = ops::link_pick(Var(table), category, LinkEnd::column).value();
  EXPECT_EQ(test::values_of(picked), (std::vector<double>{3, 4, 1, 2, 3, 4}));
  EXPECT_EQ(picked.dtype(), DType::f32);
}

TEST(LinkOps, RefuseWhatDoesNotFit) {
  const Links links = test::drawn_links(1, 4, 3, 6);
  const Var rows(Tensor::zeros({4, 2, 3}, DType::f32)),
      columns(Tensor::zeros({3, 2, 3}, DType::f32));
  const auto refusal = [](const std::function<void()>& call) {
    return test::internal_error_of(call);
  };
  EXPECT_EQ(refusal([&] { ops::gather_sum(rows, links); }),
            "gather_sum: x must have 3 rows, one for each column of links: x [4,2,3]");
  EXPECT_EQ(refusal([&] { ops::gather_max(rows, links); }),
            "gather_max: x must have 3 rows, one for each column of links: x [4,2,3]");
  EXPECT_EQ(refusal([&] { ops::link_dot(columns, columns, links, 1); }),
            "link_dot: q must have 4 rows, one for each row of links: q [3,2,3]");
  EXPECT_EQ(refusal([&] { ops::link_dot(rows, rows, links, 1); }),
            "link_dot: k must have 3 rows, one for each column of links: k [4,2,3]");
  const Var scores(Tensor::zeros({3, 2}, DType::f32));
  EXPECT_EQ(refusal([&] { ops::link_pick(scores, links, LinkEnd::row); }),
            "link_pick: s must have 4 rows, one for each row of links: s [3,2]");
  EXPECT_EQ(refusal([&] {
              ops::link_pick(Var(Tensor::zeros({4, 2}, DType::f32)), links, LinkEnd::column);
            }),
            "link_pick: s must have 3 rows, one for each column of links: s [4,2]");
  EXPECT_EQ(
      refusal([&] { ops::link_softmax(scores, links); }),
      "link_softmax: columns [E] must have E = 3 as a [E,H], not 6: a f32 [3,2], columns i32 [6]");
  EXPECT_EQ(refusal([&] {
              ops::link_softmax(Var(Tensor::zeros({6, 2}, DType::bf16)), links);
            }),
            "link_softmax: a must be f32 or f64, not bf16: a [6,2]");
  EXPECT_EQ(refusal([&] { ops::link_additive({}, {}, links, 1); }),
            "link_additive: one of row, column and link must have values");
  EXPECT_EQ(refusal([&] { ops::link_additive({columns}, {}, links, 1); }),
            "link_additive: row must have 4 rows, one for each row of links: row [3,2,3]");
  EXPECT_EQ(refusal([&] {
              ops::link_additive({{}, rows}, {}, links, 1);
            }),
            "link_additive: column must have 3 rows, one for each column of links: column [4,2,3]");
  EXPECT_EQ(refusal([&] {
              ops::link_product(scores, Var(Tensor::zeros({3, 1}, DType::f32)));
            }),
            "link_product: b [E,H] must have H = 2 as a [E,H], not 1: a f32 [3,2], b f32 [3,1]");
}

}  // namespace
}  // namespace skein
