// What layers read of a batch of graphs beside their stream: tables of its links, made once for a
// micro-batch.
#pragma once

#include "skein/data/samples/batch.h"
#include "skein/ops/links.h"

namespace skein {

// What links weigh where no scores are learnt.
enum class LinkWeights {
  learnt,    // nothing is made
  mean,      // each row's 1 / their number
  symmetric  // symmetric_weights of nn/link_attention.h
};

struct GraphNeeds {
  LinkWeights weights = LinkWeights::learnt;
  // Of what makes the first hidden states: the categories of all nodes; 0: no table is made of them
  int64_t node_ids = 0;
  bool mean_of_bags = false;  // a node gets the mean of its bag's rows, else their sum
  bool drops = false;         // weights of links are dropped, and those of bags
};

// Tables are on the device of the layers, and numbers of links in the accumulator type.
struct GraphInputs {
  ops::Links links;    // of the nodes: B*T rows and as many columns
  Tensor weights;      // [E,1]; undefined where they are learnt
  Tensor keys;         // [E] i64, the keys of their dropout; undefined: nothing is dropped
  ops::Links places;   // from E rows to B*L columns: where in the batch each link is
  ops::Links bags;     // from B*T rows to B*U columns, the ids of each sample that it has
  Tensor bag_ids;      // [B,U] i32, -1: none
  Tensor bag_weights;  // [N,1] of its N links
  Tensor bag_keys;     // [N] i64, as keys
};

// sums: the accumulator type. A usage error for samples with more links, or categories of nodes,
// than keys can tell apart, 2^24.
GraphInputs graph_inputs(const data::Batch& batch, const GraphNeeds& needs, DType sums,
                         Device device);

// The nodes of each sample, padding left out.
struct PooledNodes {
  ops::Links links;  // from B rows to B*T columns
  Tensor weights;    // [nodes,1]: 1 / their number in the sample
};
PooledNodes nodes_of_graphs(const data::Batch& batch, DType sums, Device device);

}  // namespace skein
