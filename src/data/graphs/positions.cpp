#include "skein/data/graphs/positions.h"

#include <algorithm>
#include <map>
#include <span>

#include "skein/core/error.h"
#include "skein/core/philox.h"

namespace skein::data {
namespace {

constexpr int64_t kMostPositions = 1024, kMostColourings = 64;
// Of a matrix of all pairs: 2^32 numbers.
constexpr int64_t kMostDistanceNodes = 65536;

std::span<const uint32_t> neighbours(const Graph& graph, int64_t node) {
  return std::span(graph.link_to)
      .subspan(graph.link_starts[node], graph.link_starts[node + 1] - graph.link_starts[node]);
}

using NodeSignature = std::vector<uint32_t>;

// The own colour, and those of the neighbours in rising order.
NodeSignature signature_of(const Graph& graph, int64_t node, const std::vector<uint32_t>& colours,
                           int64_t stride, int64_t round) {
  NodeSignature made{colours[node * stride + round]};
  for (const uint32_t other : neighbours(graph, node))
    made.push_back(colours[other * stride + round]);
  std::sort(made.begin() + 1, made.end());
  return made;
}

std::string_view bytes_of(const NodeSignature& signature) {
  return {reinterpret_cast<const char*>(signature.data()), signature.size() * sizeof(uint32_t)};
}

}  // namespace

void bind(Options& options, PositionsConfig& c) {
  options.add("graphs.laplacian", c.laplacian,
              "eigenvectors of the normalised Laplacian that nodes are placed by; 0: none");
  options.add("graphs.walks", c.walks,
              "steps up to which the probability of a walk's return is told; 0: none", "steps");
  options.add("graphs.colours", c.colours, "rounds of Weisfeiler-Lehman colours; -1: none",
              "rounds");
  options.add("graphs.distances", c.distances, "the lengths of the shortest paths of all pairs");
  options.add("graphs.distance_nodes", c.distance_nodes,
              "most nodes of a graph whose pairs are told", "nodes");
}

void check(const PositionsConfig& c) {
  require(c.laplacian >= 0 && c.laplacian <= kMostPositions, "graphs.laplacian={}; it is 0 to {}",
          c.laplacian, kMostPositions);
  require(c.walks >= 0 && c.walks <= kMostPositions, "graphs.walks={}; it is 0 to {}", c.walks,
          kMostPositions);
  require(c.colours >= -1 && c.colours <= kMostColourings,
          "graphs.colours={}; it is 0 to {}, or -1 for none", c.colours, kMostColourings);
  require(c.distance_nodes >= 1 && c.distance_nodes <= kMostDistanceNodes,
          "graphs.distance_nodes={}; it is 1 to {}", c.distance_nodes, kMostDistanceNodes);
}

GraphPositions positions_of(const Graph& graph, bool directed, const PositionsConfig& config) {
  GraphPositions made;
  require(config.laplacian == 0 || !directed,
          "graphs.laplacian={} needs links both ways, but graphs.directed=true; leave one of them "
          "out",
          config.laplacian);
  if (config.laplacian > 0) made.laplacian = laplacian_vectors(graph, config.laplacian);
  if (config.walks > 0) made.walks = return_probabilities(graph, config.walks);
  if (!config.distances) return made;
  require(graph.nodes <= config.distance_nodes,
          "{} has {} nodes; the distances of all pairs are told of at most "
          "graphs.distance_nodes={}",
          graph.name, graph.nodes, config.distance_nodes);
  made.distances = path_lengths(graph);
  return made;
}

std::vector<float> return_probabilities(const Graph& graph, int64_t steps) {
  std::vector<float> made(graph.nodes * steps);
  std::vector<double> now(graph.nodes), next(graph.nodes);
  for (int64_t node = 0; node < graph.nodes; ++node) {
    std::ranges::fill(now, 0);
    now[node] = 1;
    for (int64_t step = 0; step < steps; ++step) {
      for (int64_t row = 0; row < graph.nodes; ++row) {
        double sum = 0;
        for (const uint32_t other : neighbours(graph, row)) sum += now[other];
        next[row] = sum == 0 ? 0 : sum / std::ssize(neighbours(graph, row));
      }
      std::swap(now, next);
      made[node * steps + step] = static_cast<float>(now[node]);
    }
  }
  return made;
}

std::vector<uint8_t> path_lengths(const Graph& graph) {
  std::vector<uint8_t> made(graph.nodes * graph.nodes, kNotConnected);
  std::vector<uint32_t> reached;
  for (int64_t node = 0; node < graph.nodes; ++node) {
    uint8_t* const row = &made[node * graph.nodes];
    row[node] = 0;
    reached = {static_cast<uint32_t>(node)};
    for (size_t i = 0; i < reached.size(); ++i) {
      const int from = row[reached[i]];
      for (const uint32_t other : neighbours(graph, reached[i])) {
        if (row[other] != kNotConnected) continue;
        row[other] = static_cast<uint8_t>(std::min<int>(from + 1, kFarthest));
        reached.push_back(other);
      }
    }
  }
  return made;
}

NodeColours node_colours(const GraphSet& set, int64_t rounds) {
  const int64_t stride = rounds + 1;
  uint64_t sum = derive_key(0, "node_colours");
  for (const std::string& name : set.of(GraphPart::node_category).names)
    sum = derive_key(sum, name);
  std::vector<std::vector<uint32_t>> made;
  for (const Graph& graph : set.graphs) {
    const std::vector<int32_t>& categories = graph.of(GraphPart::node_category).ids;
    std::vector<uint32_t>& colours = made.emplace_back(graph.nodes * stride, 0);
    for (size_t node = 0; node < categories.size(); ++node)
      colours[node * stride] = categories[node];
  }
  for (int64_t round = 0; round < rounds; ++round) {
    std::map<NodeSignature, std::vector<uint32_t*>> of;  // where each colour belongs
    for (size_t i = 0; i < made.size(); ++i)
      for (int64_t node = 0; node < set.graphs[i].nodes; ++node)
        of[signature_of(set.graphs[i], node, made[i], stride, round)].push_back(
            &made[i][node * stride + round + 1]);
    uint32_t next = 0;
    for (const auto& [signature, places] : of) {
      for (uint32_t* const place : places) *place = next;
      ++next;
      sum = derive_key(sum, bytes_of(signature));
    }
  }
  // At least 1, and no more than what models store of it.
  return {std::move(made), static_cast<int64_t>(sum >> 33) + 1};
}

}  // namespace skein::data
