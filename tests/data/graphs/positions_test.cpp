// Where nodes are in their graphs, against numpy and networkx (tools/make_graph_golden.py).
#include "skein/data/graphs/positions.h"

#include <cmath>

#include "skein/core/json.h"
#include "skein/data/graphs/made_graphs.h"

#include "graph_fixtures.h"

namespace skein::data {
namespace {

using namespace test;
using Json = nlohmann::json;

constexpr int64_t kSteps = 6, kVectors = 8;

struct Golden {
  Json said;
  Graph graph;
};

std::vector<Golden> goldens() {
  std::vector<Golden> made;
  std::istringstream lines(bytes_of_file("data/golden/graphs/positions.jsonl"));
  for (std::string line; std::getline(lines, line);)
    made.push_back({Json::parse(line), graphs_of_lines(line).graphs.at(0)});
  return made;
}

TEST(Positions, ReturnProbabilitiesAreNumpys) {
  for (const Golden& golden : goldens()) {
    const std::vector<float> made = return_probabilities(golden.graph, kSteps);
    const auto sampled = golden.said["sampled"].get<std::vector<int64_t>>();
    const auto wanted = golden.said["returns"].get<std::vector<std::vector<double>>>();
    for (size_t i = 0; i < sampled.size(); ++i)
      for (int64_t step = 0; step < kSteps; ++step)
        EXPECT_NEAR(made[sampled[i] * kSteps + step], wanted[i][step], 1e-7)
            << golden.said["name"] << " node " << sampled[i] << " step " << step;
  }
}

TEST(Positions, PathLengthsAreNetworkxs) {
  for (const Golden& golden : goldens()) {
    std::vector<int> wanted;
    for (const Json& row : golden.said["distances"])
      for (const Json& length : row) wanted.push_back(length.get<int>());
    if (wanted.empty()) continue;
    const std::vector<uint8_t> made = path_lengths(golden.graph);
    EXPECT_EQ(std::vector<int>(made.begin(), made.end()), wanted) << golden.said["name"];
  }
}

// L x of column `n` of x [nodes,count].
std::vector<double> laplacian_times(const Graph& graph, const std::vector<float>& x, int64_t count,
                                    int64_t n) {
  const auto degree = [&](int64_t node) {
    return double(graph.link_starts[node + 1] - graph.link_starts[node]);
  };
  std::vector<double> made(graph.nodes);
  for (int64_t row = 0; row < graph.nodes; ++row) {
    if (degree(row) == 0) continue;
    made[row] = x[row * count + n];
    for (uint32_t e = graph.link_starts[row]; e < graph.link_starts[row + 1]; ++e) {
      const uint32_t other = graph.link_to[e];
      made[row] -= x[other * count + n] / std::sqrt(degree(row) * degree(other));
    }
  }
  return made;
}

double product(const std::vector<float>& x, int64_t count, int64_t a, int64_t b) {
  double sum = 0;
  for (size_t row = 0; row < x.size(); row += count) sum += double(x[row + a]) * x[row + b];
  return sum;
}

TEST(Positions, EigenvectorsHaveNumpysValues) {
  for (const Golden& golden : goldens()) {
    const auto wanted = golden.said["eigenvalues"].get<std::vector<double>>();
    std::vector<double> values;
    const std::vector<float> x = laplacian_vectors(golden.graph, kVectors, &values);
    ASSERT_EQ(values.size(), wanted.size()) << golden.said["name"];
    for (size_t n = 0; n < values.size(); ++n) {
      EXPECT_NEAR(values[n], wanted[n], 1e-9) << golden.said["name"] << " value " << n;
      const std::vector<double> y = laplacian_times(golden.graph, x, kVectors, n);
      for (int64_t node = 0; node < golden.graph.nodes; ++node)
        EXPECT_NEAR(y[node], values[n] * x[node * kVectors + n], 1e-6) << golden.said["name"];
      for (size_t other = 0; other <= n; ++other)
        EXPECT_NEAR(product(x, kVectors, n, other), n == other, 1e-6) << golden.said["name"];
    }
    for (int64_t n = std::ssize(values); n < kVectors; ++n)
      EXPECT_EQ(product(x, kVectors, n, n), 0) << golden.said["name"];
  }
}

// Eigenvalues of long graphs are close to each other: 1 - cos(pi k / (n - 1)), and of cycles
// 1 - cos(2 pi k / n), each of them twice.
TEST(Positions, EigenvectorsOfLongGraphs) {
  for (const bool cycle : {false, true}) {
    const int64_t nodes = cycle ? 700 : 1200;
    Json edges = Json::array();
    for (int64_t node = 1; node < nodes; ++node) edges.push_back({node - 1, node});
    if (cycle) edges.push_back({nodes - 1, 0});
    const Graph graph =
        graphs_of_lines(Json{{"nodes", nodes}, {"edges", edges}}.dump()).graphs.at(0);
    std::vector<double> values;
    const std::vector<float> x = laplacian_vectors(graph, kVectors, &values);
    ASSERT_EQ(std::ssize(values), kVectors);
    for (int64_t n = 0; n < kVectors; ++n) {
      const double angle =
          cycle ? 2 * M_PI * double(n / 2 + 1) / nodes : M_PI * double(n + 1) / (nodes - 1);
      EXPECT_NEAR(values[n], 1 - std::cos(angle), 1e-12) << n;
      for (int64_t other = 0; other <= n; ++other)
        EXPECT_NEAR(product(x, kVectors, n, other), n == other, 1e-6);
      const double first = cycle ? 0 : x[n], scale = std::sqrt(2);
      for (int64_t node = 1; node + 1 < nodes && !cycle; node += 97)
        EXPECT_NEAR(x[node * kVectors + n], scale * first * std::cos(angle * double(node)), 1e-6);
    }
  }
}

// The same graph with node n in place of node 7 n.
Graph permuted_graph(const Graph& graph, std::vector<int64_t>& place) {
  place.resize(graph.nodes);
  for (int64_t node = 0; node < graph.nodes; ++node) place[node] = node * 7 % graph.nodes;
  Json edges = Json::array();
  const auto neighbours = neighbours_of(graph);
  for (int64_t row = 0; row < graph.nodes; ++row)
    for (const uint32_t other : neighbours[row])
      if (other >= row) edges.push_back({place[row], place[other]});
  return graphs_of_lines(Json{{"nodes", graph.nodes}, {"edges", edges}}.dump()).graphs.at(0);
}

TEST(Positions, GoWithTheNodes) {
  const Graph graph = goldens()[1].graph;  // 41 nodes, no multiple of 7
  std::vector<int64_t> place;
  const Graph other = permuted_graph(graph, place);
  const std::vector<float> returns = return_probabilities(graph, kSteps),
                           moved = return_probabilities(other, kSteps);
  const std::vector<uint8_t> lengths = path_lengths(graph), moved_lengths = path_lengths(other);
  for (int64_t a = 0; a < graph.nodes; ++a) {
    for (int64_t step = 0; step < kSteps; ++step)
      EXPECT_NEAR(returns[a * kSteps + step], moved[place[a] * kSteps + step], 1e-7);
    for (int64_t b = 0; b < graph.nodes; ++b)
      EXPECT_EQ(lengths[a * graph.nodes + b], moved_lengths[place[a] * graph.nodes + place[b]]);
  }
  std::vector<double> values, moved_values;
  laplacian_vectors(graph, kVectors, &values);
  laplacian_vectors(other, kVectors, &moved_values);
  for (int64_t n = 0; n < kVectors; ++n) EXPECT_NEAR(values.at(n), moved_values.at(n), 1e-9);
}

TEST(Positions, EigenvectorsOfNothing) {
  EXPECT_TRUE(laplacian_vectors({.nodes = 0, .link_starts = {0}}, 3).empty());
  EXPECT_EQ(laplacian_vectors({.nodes = 2, .link_starts = {0, 0, 0}}, 2),
            (std::vector<float>(4, 0)));
}

// What the ten classes of circles are told apart by.
TEST(Positions, OfCirclesWithSkips) {
  const GraphSet set = made_graphs({.maker = GraphMaker::skip_links, .count = 1});
  ASSERT_EQ(set.graphs.size(), 10u);
  const auto classes = [&](int64_t steps) {
    std::set<std::vector<int64_t>> seen;
    for (const Graph& graph : set.graphs) {
      std::vector<int64_t> rounded;
      const std::vector<float> returns = return_probabilities(graph, steps);
      for (int64_t step = 0; step < steps; ++step)
        rounded.push_back(std::llround(returns[step] * 1e6));
      seen.insert(rounded);
    }
    return seen.size();
  };
  EXPECT_EQ(classes(8), 10u);
  EXPECT_EQ(classes(6), 6u);
  EXPECT_EQ(classes(4), 3u);
  std::set<uint32_t> colours;
  for (const std::vector<uint32_t>& of : node_colours(set, 3).of_graphs)
    for (int64_t node = 0; node < 41; ++node) colours.insert(of[node * 4 + 3]);
  EXPECT_EQ(colours.size(), 1u);
  std::set<std::vector<int64_t>> lengths;
  for (const Graph& graph : set.graphs) {
    std::vector<int64_t> counts(41);
    for (const uint8_t length : path_lengths(graph)) ++counts[length];
    lengths.insert(counts);
  }
  EXPECT_EQ(lengths.size(), 9u);
}

TEST(Positions, ColoursAgreeOverGraphs) {
  const GraphSet set = graphs_of_lines(R"({"nodes":4,"edges":[[0,1],[1,2],[2,3]]})"
                                       "\n"
                                       R"({"nodes":3,"edges":[[0,1],[1,2]]})");
  const auto colours = node_colours(set, 2).of_graphs;
  EXPECT_EQ(colours[0], (std::vector<uint32_t>{0, 0, 0, 0, 1, 2, 0, 1, 2, 0, 0, 0}));
  EXPECT_EQ(colours[1], (std::vector<uint32_t>{0, 0, 0, 0, 1, 1, 0, 0, 0}));
}

TEST(Positions, ColoursOfOtherNeighbourhoodsHaveAnotherNumbering) {
  const auto numbering = [](const std::string& lines) {
    return node_colours(graphs_of_lines(lines), 2).numbering;
  };
  const std::string path = R"({"nodes":["a","b","a"],"edges":[[0,1],[1,2]]})";
  EXPECT_EQ(numbering(path), numbering(path + "\n" + path)) << "the same colours";
  EXPECT_NE(numbering(path), numbering(R"({"nodes":["a","b","a"],"edges":[[0,1]]})"));
  EXPECT_NE(numbering(path), numbering(R"({"nodes":["a","c","a"],"edges":[[0,1],[1,2]]})"));
}

TEST(Positions, FarAndApart) {
  std::string edges = "[0,1]";
  for (int node = 1; node < 299; ++node) edges += fmt::format(",[{},{}]", node, node + 1);
  const Graph path =
      graphs_of_lines(fmt::format("{{\"nodes\":301,\"edges\":[{}]}}", edges)).graphs[0];
  const std::vector<uint8_t> lengths = path_lengths(path);
  EXPECT_EQ(lengths[253], 253);
  EXPECT_EQ(lengths[254], kFarthest);
  EXPECT_EQ(lengths[299], kFarthest);
  EXPECT_EQ(lengths[300], kNotConnected);
  expect_error(ExitCode::usage, {"graphs.jsonl:1 has 301 nodes", "graphs.distance_nodes=300"},
               [&] { positions_of(path, false, {.distances = true, .distance_nodes = 300}); });
}

TEST(Positions, Refusals) {
  expect_error(ExitCode::usage, {"graphs.laplacian=1", "graphs.directed=true"},
               [] { positions_of({.link_starts = {0}}, true, {.laplacian = 1}); });
  const auto refused = [](const PositionsConfig& config, const std::string& words) {
    expect_error(ExitCode::usage, {words}, [&] { check(config); });
  };
  refused({.laplacian = -1}, "graphs.laplacian=-1");
  refused({.walks = 5000}, "graphs.walks=5000");
  refused({.colours = -2}, "graphs.colours=-2");
  refused({.distance_nodes = 0}, "graphs.distance_nodes=0");
}

}  // namespace
}  // namespace skein::data
