// Attention over the links of a graph: nodes gather from those they are linked to, and from no
// others. Nodes of a batch are the rows [B*T] of links (kernels/links.h); those without links get
// what the last product makes of zeros.
#pragma once

#include <optional>
#include <string>

#include "skein/nn/layers.h"
#include "skein/ops/links.h"

namespace skein {

// How links are weighed, each row's to a sum of 1 but for `none`.
enum class LinkScore {
  dot,   // q·k / sqrt(D), as attention does
  gat,   // LeakyReLU(a·v_row + b·v_column): Veličković and others, 2018
  gat2,  // a·LeakyReLU(q_row + v_column): Brody and others, 2022
  none   // by the numbers that come with the links, or all by 1
};

// What the numbers that come with links do to the scores of `dot`, `gat` and `gat2`. To those of
// `gat` they are added before LeakyReLU, as its authors add what they make of edges.
enum class LinkNumbers { added, multiplied };

// What becomes of the heads: a product with a matrix of [C,H*D], one row of H*D, or their mean of
// D. The latter two have a bias, and are not divided among tensor-parallel ranks.
enum class LinkHeads { projected, concatenated, averaged };

struct GraphInputs;

struct LinkAttentionSpec {
  std::string name;
  int64_t width = 0, heads = 0, head_width = 0;
  LinkScore score = LinkScore::dot;
  LinkNumbers numbers = LinkNumbers::added;
  LinkHeads merge = LinkHeads::projected;
  // There is no product v: x itself, of C = H * D, is what rows gather, and what `gat` makes scores
  // of.
  bool gathers_input = false;
  bool bias = true;
  double slope = 0.2;  // of LeakyReLU below 0
  // Z of hops + 1 by Z = (1 - teleport) A Z + teleport V, from Z = V on, where A has the weights of
  // links (Wang and others, "Multi-hop attention graph neural networks", 2021). 0: A V.
  int hops = 0;
  double teleport = 0.1;
  double in_deviation = 0.02, out_deviation = 0.02;
  bool sequence_parallel = false;
  double links_per_row = 0;  // on average, for what the layer costs
  double dropout = 0;        // of the weights of links
  int64_t kinds = 0;         // categories of links, which have a number a head each
  int64_t values = 0;        // numbers of a link, which a product makes one a head of
  int block = 0;
  int dropout_site = 0;  // in the block
};

// Tensors (N = H * D): NAME.v [N,C], unless x is gathered; of `dot` NAME.q and NAME.k [N,C]; of
// `gat` NAME.row_score and NAME.column_score [H,D]; of `gat2` NAME.q [N,C] and NAME.score [H,D];
// NAME.out [C,N] where heads are projected; NAME.kinds.weight [kinds,H] and NAME.values [H,values],
// with a bias, of what is known of links. Products have biases where it says so, but for v of
// `gat`.
class LinkAttention {
 public:
  LinkAttention(Parameters& parameters, const LinkAttentionSpec& spec);
  // x [B,T,C] -> [B,T,C], or [B,T,H*D] or [B,T,D]. links: from B*T rows to as many columns. numbers
  // [E,H/t] or undefined, of `none` [E,1] too; in the accumulator type. Under sequence parallelism
  // x is [B,T/t,C]. keys: [E] i64 on the device of x, of each link a number that no other link has
  // at this step, by which its weights are dropped; undefined: none are.
  Var operator()(const Var& x, const ops::Links& links, const Var& numbers, const Pass& pass,
                 const Tensor& keys = {}) const;
  // The same of the nodes of pass.batch, with the numbers that its layers make of links.
  Var operator()(const Var& x, const GraphInputs& graph, const Pass& pass) const;

 private:
  bool adds_inside(const Var& numbers) const;
  Var heads_of(const Var& rows) const;
  Var node_scores(const Var& v, const Weight& score, const ops::Links& pieces) const;
  Var scores(const Var& entered, const Var& v, const ops::Links& links, const Var& numbers,
             const Pass& pass) const;
  Var weights(const Var& scores, const ops::Links& links, const Var& numbers) const;
  Var spread(const Var& v, const ops::Links& links, const Var& weights) const;
  Var dropped(const Var& weights, const Tensor& keys, const Pass& pass) const;
  Var numbers_of(const GraphInputs& graph, const Pass& pass) const;
  Var merged(const Var& y, const Var& rows, const Pass& pass) const;

  LinkAttentionSpec spec_;
  DType dtype_;
  std::optional<Linear> v_, q_, k_, out_, values_;
  Weight row_score_, column_score_, bias_, kinds_;
};

// [E,1] in host memory, of f32 or f64: 1 / n for a row of n links, so that it gets their mean.
Tensor mean_of_links(const ops::Links& links, DType dtype);
// 1 / sqrt(n m) for a link from a row of n links to a node that, as a row, has m: 0 where m is 0
// (Kipf and Welling, "Semi-supervised classification with graph convolutional networks", 2017).
// Rows and columns are the same nodes.
Tensor symmetric_weights(const ops::Links& links, DType dtype);

}  // namespace skein
