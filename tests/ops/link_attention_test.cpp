// Attention in tiles over a pattern against attention over the links that the pattern makes of its
// pairs: results, levels aside, and gradients.
#include "skein/ops/attention.h"
#include "skein/ops/links.h"
#include "skein/ops/math.h"

#include "support/drawn_links.h"
#include "support/sample_links.h"

namespace skein {
namespace {

using kernels::AttentionArguments;
using kernels::Links;
using test::AttentionSizes;
using test::DrawnAttention;
using test::expect_near;
using test::random_tensor;

struct Attended {
  Tensor y, q, k, v, bias;
};

// Rows of head h: x [B,N,H,D] -> [B*N,1,D].
Tensor head_of(const Tensor& x, int64_t h) {
  const int64_t rows = x.dim(0) * x.dim(1), width = x.dim(3);
  const Tensor made = Tensor::empty({rows, 1, width}, x.dtype());
  for (int64_t n = 0; n < rows; ++n)
    made.rows(n, n + 1).copy_from(x.flat((n * x.dim(2) + h) * width, width));
  return made;
}

// What the scores of links get: element [b,h,i,j] or [b,h,j-i+T-1] of the bias.
class BiasOfLinks {
 public:
  BiasOfLinks(const AttentionSizes& s, const Tensor& bias, int64_t head)
      : s_(s), bias_(bias), head_(head) {}

  int64_t at(int64_t row, int64_t column) const {
    const int64_t b = row / s_.queries, i = row % s_.queries, j = column % s_.keys,
                  part = b * bias_.dim(0) / s_.samples * s_.heads + head_;
    return bias_.shape().rank() == 4 ? (part * s_.queries + i) * s_.keys + j
                                     : part * bias_.dim(2) + j - i + s_.queries - 1;
  }
  Tensor values(const Links& links) const {
    const Tensor made = Tensor::zeros({links.size(), 1}, DType::f64);
    for (int64_t e = 0; bias_.defined() && e < links.size(); ++e)
      made.data<double>()[e] =
          bias_.data<double>()[at(links.rows.data<int32_t>()[e], links.columns.data<int32_t>()[e])];
    return made;
  }

 private:
  const AttentionSizes& s_;
  const Tensor& bias_;
  int64_t head_;
};

// Adds x [B*N,1,D] to what head h of `to` [B,N,H,D] holds.
void add_to_head(const Tensor& x, int64_t h, const Tensor& to) {
  const int64_t width = to.dim(3);
  for (int64_t i = 0; i < x.size(); ++i)
    to.data<double>()[(i / width * to.dim(2) + h) * width + i % width] += x.data<double>()[i];
}

Attended zeros_for(const DrawnAttention& d) {
  const auto zeros = [](const Tensor& x) {
    return x.defined() ? Tensor::zeros(x.shape(), x.dtype()) : x;
  };
  return {zeros(d.in[0]), zeros(d.in[0]), zeros(d.in[1]), zeros(d.in[2]), zeros(d.arguments.bias)};
}

Attended over_links(const DrawnAttention& d, const Tensor& dy) {
  const AttentionSizes& s = d.sizes;
  const Attended made = zeros_for(d);
  for (int64_t h = 0; h < s.heads; ++h) {
    const int64_t group = h / (s.heads / s.groups);
    const Links links = test::visible_links(d.arguments.pattern, s.samples, h, s.queries, s.keys);
    const BiasOfLinks bias_of(s, d.arguments.bias, h);
    const Var q = Var::leaf(head_of(d.in[0], h)), k = Var::leaf(head_of(d.in[1], group)),
              v = Var::leaf(head_of(d.in[2], group)), bias = Var::leaf(bias_of.values(links));
    const Var a = ops::add(ops::link_dot(q, k, links, d.arguments.scale), bias);
    const Var y = ops::gather_sum(v, links, ops::link_softmax(a, links));
    backward(y, head_of(dy, h));
    add_to_head(y.value(), h, made.y);
    add_to_head(q.gradient(), h, made.q);
    add_to_head(k.gradient(), group, made.k);
    add_to_head(v.gradient(), group, made.v);
    for (int64_t e = 0; made.bias.defined() && e < links.size(); ++e)
      made.bias.data<double>()[bias_of.at(links.rows.data<int32_t>()[e],
                                          links.columns.data<int32_t>()[e])] +=
          bias.gradient().data<double>()[e];
  }
  return made;
}

Attended in_tiles(const DrawnAttention& d, const Tensor& dy) {
  AttentionArguments arguments = d.arguments;
  const Var q = Var::leaf(d.in[0]), k = Var::leaf(d.in[1]), v = Var::leaf(d.in[2]),
            bias = arguments.bias.defined() ? Var::leaf(arguments.bias) : Var();
  arguments.bias = {};
  const Var y = ops::attention(q, k, v, arguments, bias);
  backward(y, dy.clone());
  return {y.value(), q.gradient(), k.gradient(), v.gradient(),
          bias.defined() ? bias.gradient() : Tensor()};
}

void expect_alike(const DrawnAttention& d, const std::string& what) {
  const Tensor dy = random_tensor(d.in[0].shape(), 77);
  const Attended wanted = in_tiles(d, dy), found = over_links(d, dy);
  expect_near(found.y, wanted.y, 1e-12, what + " results");
  expect_near(found.q, wanted.q, 1e-12, what + " slopes of queries");
  expect_near(found.k, wanted.k, 1e-12, what + " slopes of keys");
  expect_near(found.v, wanted.v, 1e-12, what + " slopes of values");
  if (wanted.bias.defined()) expect_near(found.bias, wanted.bias, 1e-12, what + " of the bias");
}

// Bands, segments, prefixes, marks, lists by head, places and all mixed.
TEST(LinkAttention, IsAttentionInTilesOverThePairsOfAPattern) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    DrawnAttention d = test::drawn_attention(seed);
    d.arguments.pattern.self_last = false;  // a query alone scores its own place kAlone there
    expect_alike(d, fmt::format("seed {}", seed));
  }
}

// Any mask at all: blocks of one place, some of them listed several times.
TEST(LinkAttention, IsAttentionInTilesOverAnyMask) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    DrawnAttention d = test::drawn_attention(seed);
    const AttentionSizes& s = d.sizes;
    test::Draws draws(seed + 1000);
    std::vector<int32_t> starts{0}, listed;
    for (int64_t i = 0; i < s.queries; ++i) {
      for (int32_t j = 0; j < s.keys; ++j)
        if (draws.one_in(1 + static_cast<int64_t>(seed) % 7))
          listed.insert(listed.end(), static_cast<size_t>(1 + draws.below(3)), j);
      starts.push_back(static_cast<int32_t>(std::ssize(listed)));
    }
    if (listed.empty()) continue;
    d.arguments.pattern = kernels::Pattern::full();
    d.arguments.pattern.lists = {1, Tensor::from(starts, {1, s.queries + 1}),
                                 Tensor::from(listed, {std::ssize(listed)})};
    EXPECT_EQ(test::visible_links(d.arguments.pattern, 1, 0, s.queries, s.keys).size(),
              std::ssize(listed));
    expect_alike(d, fmt::format("seed {}", seed));
  }
}

// Where every place is there once, a query that sees nothing else takes the value of its own.
TEST(LinkAttention, KnowsAQueryThatSeesItselfLast) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    DrawnAttention d = test::drawn_attention(seed);
    const AttentionSizes& s = d.sizes;
    kernels::Pattern& pattern = d.arguments.pattern;
    const Tensor queries = Tensor::empty({s.samples, s.queries}, DType::i32),
                 keys = Tensor::empty({s.samples, s.keys}, DType::i32);
    for (const Tensor& places : {queries, keys})
      for (int64_t i = 0; i < places.size(); ++i)
        places.data<int32_t>()[i] = static_cast<int32_t>((i % places.dim(1) * 7 + 3) % 997);
    pattern = kernels::Pattern::window(3, true);
    pattern.query_places = queries, pattern.key_places = keys, pattern.self_last = true;
    d.arguments.bias = {};
    expect_alike(d, fmt::format("seed {}", seed));
  }
}

}  // namespace
}  // namespace skein
