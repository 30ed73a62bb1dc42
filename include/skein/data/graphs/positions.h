// Where nodes are in their graph: computed once, and kept as columns.
#pragma once

#include <cstdint>
#include <vector>

#include "skein/core/options/options.h"
#include "skein/data/graphs/graph.h"

namespace skein::data {

struct PositionsConfig {
  int64_t laplacian = 0;         // eigenvectors
  int64_t walks = 0;             // steps
  int64_t colours = -1;          // rounds; -1: none
  bool distances = false;        // of all pairs
  int64_t distance_nodes = 512;  // graphs of more nodes are refused then
};
void bind(Options& options, PositionsConfig& config);
// A usage error for counts that are negative or too large.
void check(const PositionsConfig& config);

// Of one graph; empty what is not asked for.
struct GraphPositions {
  std::vector<float> laplacian{};    // [nodes,laplacian]
  std::vector<float> walks{};        // [nodes,walks]
  std::vector<uint8_t> distances{};  // [nodes,nodes]
};
inline constexpr uint8_t kFarthest = 254, kNotConnected = 255;

// All but colours. A usage error for eigenvectors of a directed graph, and for distances in a graph
// that is too large.
GraphPositions positions_of(const Graph& graph, bool directed, const PositionsConfig& config);

// The eigenvectors of L = I - D^-1/2 A D^-1/2 of the `count` smallest eigenvalues but for the
// trivial ones, which are 0 and one a component; [nodes,count], padded with zeros. A link that is
// there twice counts twice. Each has length 1, and the first of its numbers that is not small is
// positive. Those of equal eigenvalues are any basis of their space, and always the same one.
// Lanczos with full reorthogonalisation from fixed vectors, behind Chebyshev polynomials where
// eigenvalues are close to each other. values: takes the eigenvalues, where it is given.
std::vector<float> laplacian_vectors(const Graph& graph, int64_t count,
                                     std::vector<double>* values = nullptr);

// diag((D^-1 A)^k) for k = 1 .. steps: the probability that a random walk along the links that
// nodes gather by is back after k steps; [nodes,steps]. 0 at a node without links. 2 · nodes ·
// links · steps FLOPs.
std::vector<float> return_probabilities(const Graph& graph, int64_t steps);

// How many links lead from row to column; [nodes,nodes]. kFarthest for those that are as far or
// farther, kNotConnected where no path leads.
std::vector<uint8_t> path_lengths(const Graph& graph);

// Weisfeiler-Lehman colours of the nodes of all graphs: first the category (0 where there are
// none), then what stands for the own colour and the multiset of those of the neighbours, numbered
// in the order of these in all graphs. So equal colours are equal neighbourhoods in any two graphs
// of the set, and of another set only where numbering is the same.
struct NodeColours {
  std::vector<std::vector<uint32_t>> of_graphs{};  // [nodes,rounds + 1] each
  int64_t numbering = 0;  // a sum of the names of categories and of what each colour stands for
};
NodeColours node_colours(const GraphSet& set, int64_t rounds);

}  // namespace skein::data
