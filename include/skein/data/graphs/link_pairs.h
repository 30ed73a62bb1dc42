// Pairs of nodes of which it is asked whether they are linked. A store divides its links in those
// that are learnt and seen, of validation and of test (graphs.link_fractions), both ways alike;
// links of a node with itself are asked of nobody.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "skein/data/graphs/graph_form.h"
#include "skein/data/graphs/graph_store.h"

namespace skein::data {

enum class GraphUse;
struct GraphBlend;
struct GraphUnit;

// The lower number first.
using NodePair = std::pair<int32_t, int32_t>;

// The linked pairs of that use, of every graph that has some. Usage errors for a store whose links
// are not divided, and for a graph in which all nodes are linked with all others.
std::vector<GraphUnit> link_units(const GraphBlend& blend, GraphUse use);

// Of each link of a graph, whether it is for training, or of a node with itself: those that
// remain where the others are held out.
std::vector<bool> links_in_sight(const GraphRecords& store, int64_t record);

// `count` pairs of nodes that are not among `linked`, which rise and are not all pairs of the
// `nodes`; each is drawn alike from all that are not: pair i is a function of key, stream and i
// alone, and may be drawn again.
std::vector<NodePair> pairs_apart(const std::vector<NodePair>& linked, int32_t nodes, int64_t count,
                                  uint64_t key, uint64_t stream);

// What graph.inputs means where links are held out: the columns that are given, or those that the
// model has a use for, but for positions, which are made of all links. A usage error where one of
// these is given.
std::vector<std::string> inputs_beside_links(const GraphRecords& store,
                                             const std::vector<std::string>& wanted,
                                             const GraphUses& uses);

}  // namespace skein::data
