// Graphs of which it is known what can be learnt from them.
#pragma once

#include <cstdint>

#include "skein/core/options/options.h"
#include "skein/data/graphs/graph.h"

namespace skein::data {

enum class GraphMaker { none, skip_links, blocks, grid };

struct MadeGraphsConfig {
  GraphMaker maker = GraphMaker::none;
  int64_t count = 15;  // skip_links: graphs of each class; blocks: graphs
  int64_t communities = 6, community_nodes = 20;  // blocks
  double inside = 0.5, outside = 0.25;            // blocks: probabilities of a link
  int64_t height = 8, width = 8;                  // grid
  uint64_t seed = 1;                              // of all that is drawn

  bool operator==(const MadeGraphsConfig&) const = default;
};
void bind(Options& options, MadeGraphsConfig& config);

// skip_links: circles of 41 nodes in which each is linked to its neighbours and to those `skip`
// away; the label is the class of the skip, one of 2, 3, 4, 5, 6, 9, 11, 12, 13 and 16 (Murphy and
// others, 2019; Dwivedi and others, 2023). All look alike to what sees neighbours only. Nodes
// stand in a random order.
// blocks: the stochastic block model. Two nodes of a community are linked with the probability
// `inside`, others with `outside`. The label of a node is its community; of one node of each
// community it is known, as its category (Dwivedi and others, 2023: CLUSTER).
// grid: one graph of height x width nodes, each linked to those beside, above and below it; the
// label of a node is its row plus its column, modulo 2.
// Usage errors for counts that are none.
GraphSet made_graphs(const MadeGraphsConfig& config);

// Graphs that block_accuracy looks at, since many more may be made to learn from.
inline constexpr int64_t kJudgedBlocks = 1000;
// The share of the nodes of the first of `blocks`, but for the known ones, whose community belief
// propagation at the true probabilities finds likeliest (Decelle and others, 2011): about as good
// as can be.
double block_accuracy(const GraphSet& blocks, const MadeGraphsConfig& config);

}  // namespace skein::data
