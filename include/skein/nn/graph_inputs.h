// What layers read of a batch of graphs beside their stream: tables of its links, made once for a
// micro-batch.
#pragma once

#include <memory>
#include <mutex>

#include "skein/data/samples/batch.h"
#include "skein/ops/links.h"

namespace skein {

// What links weigh where no scores are learnt.
enum class LinkWeights {
  learnt,    // nothing is made
  mean,      // each row's 1 / their number
  symmetric  // symmetric_weights of nn/link_attention.h
};

// All nodes of a graph are linked to each other, and to themselves, and each pair has kinds: how
// far the second node is from the first, and of what kinds the links of a shortest path are (Ying
// and others, "Do transformers really perform badly for graph representation?", 2021).
struct PairNeeds {
  bool all = false;  // else nodes are linked as the graph says, and the rest is of no account
  // Distances up to this have kinds of their own, all beyond share one; so do pairs without a path,
  // and those with the virtual node. At most 253.
  int64_t farthest = 0;
  // Categories of links. A path no longer than `farthest` has a kind for each of its links, by
  // their number in it and category, of which a pair gets the mean. Of several shortest paths it is
  // the one whose node before the last is the first of the graph, and so on back. 0: none are told.
  int64_t link_kinds = 0;
  int64_t degrees = 0;        // nodes of so many links and of more are alike
  bool virtual_node = false;  // ahead of each graph's nodes is one more, linked to all
};
// How many kinds there are: distances 0 to farthest, farther, no path, the virtual node, and then
// link_kinds for each place of a path.
int64_t count_of_kinds(const PairNeeds& needs);

struct GraphNeeds {
  LinkWeights weights = LinkWeights::learnt;
  // Of what makes the first hidden states: the categories of all nodes; 0: no table is made of them
  int64_t node_ids = 0;
  bool embeds = true;         // else nothing of what follows is made but for links
  bool mean_of_bags = false;  // a node gets the mean of its bag's rows, else their sum
  bool drops = false;         // weights of links are dropped, and those of bags
  PairNeeds pairs = {};
};

// Of R rows, each the sum of rows of a table, by weight. A sample has copies of its own of those
// that it reads, so that a table's gradient is summed sample by sample.
struct IdBags {
  Tensor ids;        // [B,U] i32, -1: none
  ops::Links links;  // from R rows to B*U columns: what each is a sum of
  Tensor weights;    // [N,1] of these N links
  Tensor keys;       // [N] i64, of their dropout; undefined: nothing is dropped
};
// [R,C] of the rows of a table [ids,C]. weights [N,1]: what takes the place of those of the bags.
Var sums_of(const IdBags& bags, const Weight& table, const Var& weights);

// Tables are on the device of the layers, and numbers of links in the accumulator type. N: the
// nodes of a sample, padding and a virtual node among them.
struct GraphInputs {
  ops::Links links;   // of the nodes: B*N rows and as many columns
  Tensor weights;     // [E,1]; undefined where they are learnt
  Tensor keys;        // [E] i64, the keys of their dropout; undefined: nothing is dropped
  ops::Links places;  // from E rows to B*L columns: where in the batch, or its pairs, each link is
  IdBags categories;  // of nodes, B*T rows
  IdBags degrees;  // of nodes, B*T rows: min(links by which it gathers, degrees), and degrees + 1 +
                   // min(links by which others gather from it, degrees)
  IdBags pairs;    // of pairs of nodes, B*L rows: their kinds
};

// sums: the accumulator type. Usage errors for samples with more links or pairs, or categories of
// nodes, than keys can tell apart, 2^24; for distances that the links contradict, or that are not
// there.
GraphInputs graph_inputs(const data::Batch& batch, const GraphNeeds& needs, DType sums,
                         Device device);

// The tables of the last batch of one sample. Where the next one has the same graph, as at each
// step where a large graph is learnt as a whole, they are used again, and only keys are made anew.
// For one model, of which needs differ in `drops` alone; from any thread.
class KeptGraphInputs {
 public:
  std::shared_ptr<const GraphInputs> of(const data::Batch& batch, const GraphNeeds& needs,
                                        DType sums, Device device) const;

 private:
  mutable std::mutex mutex_;
  mutable data::Batch batch_;
  mutable std::shared_ptr<const GraphInputs> made_;
};

// The nodes of each sample, padding left out.
struct PooledNodes {
  ops::Links links;  // from B rows to B*T columns
  Tensor weights;    // [nodes,1]: 1 / their number in the sample
};
PooledNodes nodes_of_graphs(const data::Batch& batch, DType sums, Device device);

// The pairs of nodes of batch.source.links [B,K,2]: from B*K rows to B*T columns, a link to the one
// end of a pair, or to the other; behind the pairs that a sample has, -1, rows have none.
struct PairedNodes {
  ops::Links first, second;
};
PairedNodes pairs_of_graphs(const data::Batch& batch, Device device);

}  // namespace skein
