// What a graphormer's nodes see, against a direct evaluation, and what of graphs is refused.
#include <cmath>
#include <map>

#include "skein/comm/local.h"
#include "skein/nn/graph_inputs.h"

#include "models/small_graphs.h"
#include "nn/plain_product.h"
#include "nn/small_blocks.h"
#include "support/expect_error.h"

namespace skein {
namespace {

using test::graph_batch;

constexpr int64_t kWidth = 4, kHeads = 2, kHeadWidth = 3, kFarthest = 2, kKinds = 3;

// A graph of a batch as its pairs say it: the kind of the first link between two nodes, and how far
// they are from each other.
struct PlainGraph {
  int64_t nodes = 0;
  std::map<std::pair<int64_t, int64_t>, int64_t> kinds;
  const int32_t* distances = nullptr;
  int64_t stride = 0;

  PlainGraph(const data::Batch& batch, int64_t g)
      : nodes(batch.lengths.data<int32_t>()[g]),
        distances(batch.distances.data<int32_t>() + g * batch.length() * batch.length()),
        stride(batch.length()) {
    for (int64_t at = g * batch.links.dim(1); at < (g + 1) * batch.links.dim(1); ++at) {
      const int32_t* end = batch.links.data<int32_t>() + 2 * at;
      if (end[0] >= 0) kinds.try_emplace({end[0], end[1]}, batch.link_kinds.data<int32_t>()[at]);
    }
  }
  int64_t distance(int64_t i, int64_t j) const { return distances[i * stride + j]; }
  // Kinds of the links from i on, over the first node before j that is on the way.
  std::vector<int64_t> path(int64_t i, int64_t j) const {
    if (i == j) return {};
    for (int64_t k = 0; k < nodes; ++k)
      if (kinds.contains({k, j}) && distance(i, k) + 1 == distance(i, j)) {
        std::vector<int64_t> made = path(i, k);
        made.push_back(kinds.at({k, j}));
        return made;
      }
    ADD_FAILURE() << "no path";
    return {};
  }
};

// What the score of a head gets for a pair, of table [kinds,H]. i, j: the virtual node is -1.
double bias_of(const PlainGraph& graph, int64_t i, int64_t j, const Tensor& table, int64_t head) {
  const auto at = [&](int64_t kind) { return table.data<double>()[kind * kHeads + head]; };
  if (i < 0 || j < 0) return at(kFarthest + 3);
  const int64_t distance = graph.distance(i, j);
  if (distance == 255) return at(kFarthest + 2);
  if (distance > kFarthest) return at(kFarthest + 1);
  double paths = 0;
  const std::vector<int64_t> kinds = graph.path(i, j);
  for (size_t n = 0; n < kinds.size(); ++n)
    paths += at(kFarthest + 4 + static_cast<int64_t>(n) * kKinds + kinds[n]);
  return at(distance) + (distance ? paths / static_cast<double>(distance) : 0);
}

struct Layer {
  std::unique_ptr<Group> alone = single_rank();
  Parameters parameters{DType::f64, 0, 1};
  PairNeeds needs;
  LinkAttention attention;
  Pass pass;

  explicit Layer(bool virtual_node)
      : needs{true, kFarthest, kKinds, 3, virtual_node}, attention(parameters, spec()) {
    test::initialize_all(parameters, false);
    pass.tp = alone.get();
  }
  LinkAttentionSpec spec() const {
    LinkAttentionSpec made;
    made.name = "links";
    made.width = kWidth;
    made.heads = kHeads;
    made.head_width = kHeadWidth;
    made.in_deviation = made.out_deviation = 0.6;
    made.kinds = count_of_kinds(needs);
    return made;
  }
  const Tensor& value(const std::string& name) { return parameters.find("links." + name)->value; }
  std::vector<double> product(const std::vector<double>& x, const std::string& name) {
    return test::plain_product(x, value(name + ".weight"), value(name + ".bias"));
  }
  // Of the rows of a graph's nodes [n,C], the virtual one ahead, what attention over all of them
  // makes.
  std::vector<double> direct(const std::vector<double>& x, const PlainGraph& graph) {
    const auto q = product(x, "q"), k = product(x, "k"), v = product(x, "v");
    const int64_t ahead = needs.virtual_node ? 1 : 0, nodes = graph.nodes + ahead;
    std::vector<double> read(q.size());
    for (int64_t head = 0; head < kHeads; ++head)
      for (int64_t i = 0; i < nodes; ++i) {
        const auto at = [&](int64_t node, int64_t d) {
          return static_cast<size_t>((node * kHeads + head) * kHeadWidth + d);
        };
        std::vector<double> weights;
        double sum = 0;
        for (int64_t j = 0; j < nodes; ++j) {
          double score = 0;
          for (int64_t d = 0; d < kHeadWidth; ++d) score += q[at(i, d)] * k[at(j, d)];
          score = score / std::sqrt(kHeadWidth) +
                  bias_of(graph, i - ahead, j - ahead, value("kinds.weight"), head);
          weights.push_back(std::exp(score));
          sum += weights.back();
        }
        for (int64_t j = 0; j < nodes; ++j)
          for (int64_t d = 0; d < kHeadWidth; ++d)
            read[at(i, d)] += weights[static_cast<size_t>(j)] / sum * v[at(j, d)];
      }
    return product(read, "out");
  }
};

// A ring with a shortcut, and a path of which a node has lost its links: all kinds of pairs.
data::Batch batch_of_all_kinds() {
  data::Batch batch = graph_batch({.nodes = {6, 5}});
  const int64_t most = batch.links.dim(1);
  int32_t* const end = batch.links.data<int32_t>() + most * 2;
  int64_t kept = 0;
  for (int64_t link = 0; link < most; ++link) {
    const int32_t row = end[2 * link], column = end[2 * link + 1];
    if (row < 0 || row == 2 || column == 2) continue;
    end[2 * kept] = row;
    end[2 * kept++ + 1] = column;
  }
  std::fill(end + 2 * kept, end + 2 * most, -1);
  test::take_distances(batch);
  return batch;
}

TEST(Graphormers, AttendAsADirectEvaluationSays) {
  const data::Batch batch = batch_of_all_kinds();
  for (const bool virtual_node : {true, false}) {
    Layer layer(virtual_node);
    layer.pass.batch = &batch;
    const int64_t rows = batch.length() + (virtual_node ? 1 : 0);
    const Tensor x = test::random_tensor({batch.size(), rows, kWidth}, 3);
    const GraphInputs graph = graph_inputs(batch, {.pairs = layer.needs}, DType::f64, {});
    const Tensor found = layer.attention(Var(x), graph, layer.pass).value();
    for (int64_t g = 0; g < batch.size(); ++g) {
      const PlainGraph plain(batch, g);
      const int64_t count = (plain.nodes + (virtual_node ? 1 : 0)) * kWidth;
      const auto own = x.flat(g * rows * kWidth, count).span<double>();
      const std::vector<double> expected = layer.direct({own.begin(), own.end()}, plain);
      for (int64_t i = 0; i < count; ++i)
        EXPECT_NEAR(found.data<double>()[g * rows * kWidth + i], expected[static_cast<size_t>(i)],
                    1e-12)
            << g << " " << i;
    }
  }
}

// Rows of the table of degrees: of links by which a node gathers, and by which it is gathered from.
TEST(Graphormers, CountLinksBothWays) {
  const data::Batch batch = graph_batch({.nodes = {5, 1}});
  const GraphInputs graph =
      graph_inputs(batch, {.pairs = {true, kFarthest, 0, 4, false}}, DType::f64, {});
  Parameters parameters(DType::f64, 0, 1);
  const Weight table = parameters.add({.name = "table", .shape = {10, 1}});
  parameters.allocate(false);
  for (int64_t i = 0; i < 10; ++i) table.value().data<double>()[i] = std::pow(10.0, i);
  const Tensor found = sums_of(graph.degrees, table, Var(graph.degrees.weights)).value();
  // Node 0 gathers from node 2 too, by a link of one way. A ring of one is linked to itself.
  const std::vector<double> expected{1e4 + 1e8, 1e3 + 1e8, 1e3 + 1e9, 1e3 + 1e8,
                                     1e3 + 1e8, 0,         1e1 + 1e6};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(found.data<double>()[i], expected[i]) << i;
}

TEST(Graphormers, RefuseDistancesThatLinksContradict) {
  const GraphNeeds needs{.pairs = {true, kFarthest, kKinds, 3, false}};
  data::Batch batch = graph_batch({.nodes = {5}});
  batch.distances.data<int32_t>()[3] = 1;
  test::expect_error(ExitCode::usage,
                     {"says that node 3 is 1 links from node 0, but its links say otherwise",
                      "graphs.distances=true"},
                     [&] { graph_inputs(batch, needs, DType::f64, {}); });
  batch.distances = Tensor();
  test::expect_error(ExitCode::usage,
                     {"reads how far nodes are from each other, but the graphs do not say"},
                     [&] { graph_inputs(batch, needs, DType::f64, {}); });
}

}  // namespace
}  // namespace skein
