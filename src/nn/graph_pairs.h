// What pairs of nodes, and nodes, of a batch of graphs are by its links and distances. In host
// memory.
#pragma once

#include "skein/nn/graph_inputs.h"

namespace skein {

// Of a sample, the virtual one among them.
int64_t nodes_of(const data::Batch& batch, const PairNeeds& needs, int64_t sample);

// [B,L,M] i32, -1: none. Of a sample of n nodes number i * n + j are the kinds of the pair of node
// i, which gathers, and node j: first that of their distance, then those of a path's links, from
// i on.
Tensor pair_kinds(const data::Batch& batch, const PairNeeds& needs);

// [B,T,2] i32, -1: none; as GraphInputs::degrees says.
Tensor degree_ids(const data::Batch& batch, const PairNeeds& needs);

}  // namespace skein
