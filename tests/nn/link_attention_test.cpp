// Attention over links against torch_geometric, dense formulas and itself on several ranks.
#include "skein/nn/link_attention.h"

#include <cmath>
#include <fstream>
#include <numeric>

#include "skein/comm/local.h"
#include "skein/core/json.h"
#include "skein/ops/embedding.h"

#include "nn/plain_product.h"
#include "nn/small_blocks.h"
#include "support/drawn_links.h"
#include "support/expect_error.h"
#include "support/sample_links.h"

namespace skein {
namespace {

using kernels::Links;
using nlohmann::json;
using test::random_tensor;

LinkAttentionSpec spec_of(LinkScore score, LinkHeads merge = LinkHeads::projected) {
  LinkAttentionSpec made;
  made.name = "links";
  made.width = 4;
  made.heads = 2;
  made.head_width = 3;
  made.score = score;
  made.merge = merge;
  made.in_deviation = made.out_deviation = 0.6;
  return made;
}

struct LinkLayer {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  LinkAttention attention;
  Pass pass;

  explicit LinkLayer(const LinkAttentionSpec& spec) : attention(parameters, spec) {
    test::initialize_all(parameters, true);
    pass.tp = alone.get();
  }
  Tensor& value(const std::string& name) { return parameters.find("links." + name)->value; }
  Var operator()(const Var& x, const Links& links, const Tensor& numbers = {}) const {
    return attention(x, links, numbers.defined() ? Var(numbers) : Var(), pass);
  }
};

Tensor tensor_of(const json& numbers, const Shape& shape) {
  return Tensor::from(numbers.get<std::vector<double>>(), shape);
}

Links links_of(const json& edges) {
  std::vector<kernels::Edge> made;
  for (const json& edge : edges) made.push_back({edge[0], edge[1]});
  return kernels::links_of_edges(made, 7, 7);
}

void expect_golden(const json& all, const json& one) {
  const std::map<std::string, LinkScore> scores{{"dot", LinkScore::dot},
                                                {"gat", LinkScore::gat},
                                                {"gat2", LinkScore::gat2},
                                                {"none", LinkScore::none}};
  const LinkScore score = scores.at(one["score"]);
  const bool averaged = one["merge"] == "averaged";
  SCOPED_TRACE(one["score"].get<std::string>() + " " + one["merge"].get<std::string>());
  LinkLayer layer(spec_of(score, averaged ? LinkHeads::averaged : LinkHeads::concatenated));
  for (Parameter& p : layer.parameters.all()) {
    const std::string name = p.name.substr(6);
    if (one["tensors"].contains(name))
      p.value.copy_from(tensor_of(one["tensors"][name], p.shape));
    else
      p.value.fill_zero();
  }
  const Links links = links_of(all["edges"]);
  Tensor numbers;
  if (score == LinkScore::none) numbers = symmetric_weights(links, DType::f64);
  if (one.contains("numbers")) numbers = tensor_of(one["numbers"], {links.size(), 2});
  const Var x = Var::leaf(tensor_of(all["x"], {1, 7, 4}));
  const Var y = layer(x, links, numbers);
  const Shape shape{1, 7, averaged ? 3 : 6};
  backward(y, tensor_of(one["upstream"], shape));
  test::expect_near(y.value(), tensor_of(one["y"], shape), 1e-12, "y");
  test::expect_near(x.gradient(), tensor_of(one["dx"], {1, 7, 4}), 1e-12, "dx");
  for (const auto& [name, gradient] : one["gradients"].items()) {
    const Parameter& p = *layer.parameters.find("links." + name);
    test::expect_near(p.gradient, tensor_of(gradient, p.shape), 1e-12, name);
  }
}

TEST(LinkAttentionLayer, IsThatOfTorchGeometric) {
  const json all = json::parse(std::ifstream("nn/link_attention.golden.json"));
  ASSERT_EQ(all["cases"].size(), 7u);
  for (const json& one : all["cases"]) expect_golden(all, one);
}

// One head over N nodes: [N,N], the weights of a dense formula. `masked`: of pairs without a link
// the score is no number; else it is 0, which weighs 1 before the softmax divides.
std::vector<double> dense_weights(LinkLayer& layer, const Tensor& x, const Links& links,
                                  const Tensor& numbers, LinkNumbers use, bool masked) {
  const auto nodes = static_cast<size_t>(links.row_count());
  const auto q = test::plain_product(test::values_of(x), layer.value("q.weight"),
                                     layer.value("q.bias")),
             k = test::plain_product(test::values_of(x), layer.value("k.weight"),
                                     layer.value("k.bias"));
  std::vector<double> made(nodes * nodes, masked ? 0.0 : 1.0);
  for (int64_t e = 0; e < links.size(); ++e) {
    const auto row = static_cast<size_t>(links.rows.data<int32_t>()[e]),
               column = static_cast<size_t>(links.columns.data<int32_t>()[e]);
    double score = 0;
    for (size_t d = 0; d < 3; ++d) score += q[row * 3 + d] * k[column * 3 + d] / std::sqrt(3);
    const double number = numbers.data<double>()[e];
    made[row * nodes + column] =
        std::exp(use == LinkNumbers::added ? score + number : score * number);
  }
  for (size_t row = 0; row < nodes; ++row) {
    double sum = 0;
    for (size_t j = 0; j < nodes; ++j) sum += made[row * nodes + j];
    for (size_t j = 0; j < nodes; ++j) made[row * nodes + j] /= sum;
  }
  return made;
}

// Each node is linked to itself and to every third.
Links a_third(int64_t nodes) {
  std::vector<kernels::Edge> edges;
  for (int64_t i = 0; i < nodes; ++i)
    for (int64_t j = i % 3; j < nodes; j += 3) edges.push_back({i, j});
  return kernels::links_of_edges(edges, nodes, nodes);
}

LinkAttentionSpec one_head() {
  LinkAttentionSpec made = spec_of(LinkScore::dot, LinkHeads::concatenated);
  made.heads = 1;
  return made;
}

// "Softmax(Q K^T * A * W)" of lectures means a mask: taken by the letter, what is no neighbour has
// the score 0 and so a weight.
TEST(LinkAttentionLayer, PairsWithoutALinkHaveNoWeight) {
  constexpr int64_t kNodes = 10;
  const Links links = a_third(kNodes);
  const Tensor x = random_tensor({1, kNodes, 4}, 3), numbers = random_tensor({links.size(), 1}, 4);
  for (const LinkNumbers use : {LinkNumbers::added, LinkNumbers::multiplied}) {
    LinkAttentionSpec spec = one_head();
    spec.numbers = use;
    LinkLayer layer(spec);
    const auto v = test::plain_product(test::values_of(x), layer.value("v.weight"),
                                       layer.value("v.bias")),
               found = test::values_of(layer(Var(x), links, numbers).value());
    const auto distance = [&](bool masked) {
      const auto weights = dense_weights(layer, x, links, numbers, use, masked);
      double most = 0;
      for (size_t at = 0; at < found.size(); ++at) {
        double wanted = layer.value("bias").data<double>()[at % 3];
        for (size_t j = 0; j < kNodes; ++j)
          wanted += weights[at / 3 * kNodes + j] * v[j * 3 + at % 3];
        most = std::max(most, std::abs(found[at] - wanted));
      }
      return most;
    };
    EXPECT_LT(distance(true), 1e-13);
    EXPECT_GT(distance(false), 1e-2);
  }
}

// After many hops alpha (I - (1 - alpha) A)^-1 V: the result solves Z - (1 - alpha) A Z = alpha V.
TEST(LinkAttentionLayer, DiffusionIsThatOfTheDenseInverse) {
  constexpr int64_t kNodes = 12;
  const Links links = a_third(kNodes);
  const Tensor x = random_tensor({1, kNodes, 4}, 3),
               none = Tensor::zeros({links.size(), 1}, DType::f64);
  LinkAttentionSpec spec = one_head();
  spec.teleport = 0.3;
  for (const auto& [hops, tolerance] : {std::pair{100, 1e-13}, {3, 1.0}}) {
    spec.hops = hops;
    LinkLayer layer(spec);
    layer.value("bias").fill_zero();
    const auto z = test::values_of(layer(Var(x), links).value()),
               v = test::plain_product(test::values_of(x), layer.value("v.weight"),
                                       layer.value("v.bias")),
               a = dense_weights(layer, x, links, none, LinkNumbers::added, true);
    double most = 0;
    for (size_t at = 0; at < z.size(); ++at) {
      double left = z[at];
      for (size_t j = 0; j < kNodes; ++j) left -= 0.7 * a[at / 3 * kNodes + j] * z[j * 3 + at % 3];
      most = std::max(most, std::abs(left - 0.3 * v[at]));
    }
    EXPECT_LT(most, tolerance) << hops;
    EXPECT_EQ(most > 1e-4, hops == 3) << "a few hops are not all";
  }
}

TEST(LinkAttentionLayer, HasItsGradients) {
  const Links links = test::joined_links(
      std::vector{test::drawn_links(1, 6, 6, 20), test::drawn_links(2, 5, 5, 9)}, 6, 6);
  for (const LinkScore score : {LinkScore::dot, LinkScore::gat, LinkScore::gat2, LinkScore::none})
    for (const LinkNumbers use : {LinkNumbers::added, LinkNumbers::multiplied})
      for (const int hops : {0, 2}) {
        LinkAttentionSpec spec = spec_of(score);
        spec.numbers = use;
        spec.hops = hops;
        LinkLayer layer(spec);
        const auto run = [&](const test::Checked& at) {
          return layer.attention(at.inputs[0], links, at.inputs[1], layer.pass);
        };
        test::check_gradients(run, {{2, 6, 4}, {links.size(), 2}});
        const Tensor x = random_tensor({2, 6, 4}, 5), numbers = random_tensor({links.size(), 2}, 6),
                     dy = random_tensor({2, 6, 4}, 7);
        for (Parameter& p : layer.parameters.all()) p.gradient.fill_zero();
        backward(layer(Var::leaf(x), links, numbers), dy.clone());
        for (Parameter& p : layer.parameters.all())
          test::compare_with_differences(
              p.value, p.gradient,
              [&] {
                const auto y = test::values_of(layer(Var(x), links, numbers).value()),
                           slopes = test::values_of(dy);
                return std::inner_product(y.begin(), y.end(), slopes.begin(), 0.0);
              },
              1e-6, p.name, 3);
      }
}

// The rank's columns of numbers [E,2], one a head.
Tensor own_numbers(const Tensor& numbers, int rank) {
  const Tensor made = Tensor::empty({numbers.dim(0), 1}, DType::f64);
  for (int64_t e = 0; e < made.size(); ++e)
    made.data<double>()[e] = numbers.data<double>()[2 * e + rank];
  return made;
}

// Positions [first, first + count) of each sample of x [B,T,C].
Tensor some_positions(const Tensor& x, int64_t first, int64_t count) {
  return ops::positions(Var(x), first, count).value();
}

TEST(LinkAttentionLayer, IsTheSameOverRanks) {
  const Links links = test::drawn_links(1, 12, 12, 40);
  const Tensor x = random_tensor({2, 6, 4}, 5), numbers = random_tensor({links.size(), 2}, 6),
               dy = random_tensor({2, 6, 4}, 7);
  for (const LinkScore score : {LinkScore::dot, LinkScore::gat, LinkScore::gat2, LinkScore::none})
    for (const bool sequence : {false, true}) {
      LinkAttentionSpec spec = spec_of(score);
      spec.sequence_parallel = sequence;
      LinkLayer whole(spec);
      const Var in = Var::leaf(x), wanted = whole(in, links, numbers);
      backward(wanted, dy.clone());
      run_ranks(2, [&](Group& tp) {
        Parameters parameters(DType::f64, tp.rank(), 2);
        const LinkAttention layer(parameters, spec);
        test::initialize_all(parameters, true);
        Pass pass;
        pass.tp = &tp;
        pass.sequence_parallel = sequence;
        const int64_t count = sequence ? 3 : 6, first = sequence ? tp.rank() * 3 : 0;
        const auto own = [&](const Tensor& of) { return some_positions(of, first, count); };
        const Var part = Var::leaf(own(x)),
                  y = layer(part, links, Var(own_numbers(numbers, tp.rank())), pass);
        backward(y, own(dy));
        test::expect_near(y.value(), own(wanted.value()), 1e-13, "y");
        test::expect_near(part.gradient(), own(in.gradient()), 1e-13, "dx");
      });
    }
}

// A graph that is summed in pieces, and whose gradients are those of two halves that know nothing
// of each other.
TEST(LinkAttentionLayer, GradientsOfLargeGraphsAreSums) {
  constexpr int64_t kNodes = 600;
  const Links links = test::joined_links(std::vector{test::drawn_links(1, kNodes, kNodes, 2000),
                                                     test::drawn_links(2, kNodes, kNodes, 900)},
                                         kNodes, kNodes);
  const Tensor x = random_tensor({2, kNodes, 4}, 5), dy = random_tensor({2, kNodes, 4}, 7);
  LinkLayer whole(spec_of(LinkScore::gat)), halves(spec_of(LinkScore::gat));
  backward(whole(Var::leaf(x), links), dy.clone());
  for (int64_t b = 0; b < 2; ++b)
    backward(halves(Var::leaf(x.rows(b, b + 1)),
                    test::links_of_samples(links, b, b + 1, kNodes, kNodes)),
             dy.rows(b, b + 1).clone());
  for (const char* name : {"row_score", "column_score"}) {
    const std::string full = std::string("links.") + name;
    EXPECT_EQ(test::bytes_of(whole.parameters.find(full)->gradient),
              test::bytes_of(halves.parameters.find(full)->gradient))
        << name;
  }
  Tensor& score = whole.value("row_score");
  test::compare_with_differences(
      score, whole.parameters.find("links.row_score")->gradient,
      [&] {
        const auto y = test::values_of(whole(Var(x), links).value()), slopes = test::values_of(dy);
        return std::inner_product(y.begin(), y.end(), slopes.begin(), 0.0);
      },
      1e-6, "row_score");
}

TEST(LinkAttentionLayer, RefusesToDivideHeadsThatStandBesideEachOther) {
  test::expect_error(ExitCode::usage,
                     {"links: heads that are not projected do not divide by parallel.tensor=2; set "
                      "parallel.tensor=1"},
                     [] {
                       Parameters parameters(DType::f32, 0, 2);
                       const LinkAttention layer(parameters,
                                                 spec_of(LinkScore::gat, LinkHeads::concatenated));
                     });
}

TEST(LinkAttentionLayer, CostsWhatItsLinksDo) {
  const auto flops = [](LinkScore score, int hops) {
    Parameters parameters(DType::f32, 0, 1);
    LinkAttentionSpec spec = spec_of(score);
    spec.links_per_row = 5;
    spec.hops = hops;
    const LinkAttention layer(parameters, spec);
    return flops_per_token(parameters, 100)[-1];
  };
  constexpr double kProduct = 6 * 4 * 6, kSum = 6 * 6 * 5;
  EXPECT_EQ(flops(LinkScore::dot, 0), 4 * kProduct + 2 * kSum);
  EXPECT_EQ(flops(LinkScore::none, 0), 2 * kProduct + kSum);
  EXPECT_EQ(flops(LinkScore::none, 3), 2 * kProduct + 3 * kSum);
  EXPECT_EQ(flops(LinkScore::gat, 0), 2 * kProduct + kSum);
  EXPECT_EQ(flops(LinkScore::gat2, 0), 3 * kProduct + 3 * kSum);
}

TEST(LinkWeights, AreMeansAndSymmetric) {
  const Links links = kernels::links_of_edges(
      std::vector<kernels::Edge>{{0, 1}, {0, 2}, {1, 0}, {0, 0}, {2, 1}, {2, 3}}, 4, 4);
  EXPECT_EQ(test::values_of(mean_of_links(links, DType::f64)),
            (std::vector<double>{1.0 / 3, 1.0 / 3, 1.0 / 3, 1, 0.5, 0.5}));
  const auto found = test::values_of(symmetric_weights(links, DType::f64));
  const double wanted[] = {1 / std::sqrt(3), 1 / std::sqrt(6), 1.0 / 3,
                           1 / std::sqrt(3), 1 / std::sqrt(2), 0};
  for (size_t e = 0; e < found.size(); ++e) EXPECT_NEAR(found[e], wanted[e], 1e-15) << e;
}

}  // namespace
}  // namespace skein
