// One vector for each of several sets of rows: nodes of a graph, sentences of a story. Members may
// come in any order.
#pragma once

#include <string>

#include "skein/nn/layers.h"
#include "skein/ops/links.h"

namespace skein {

// attention: the mean by the softmax over a set's members of query · member / sqrt(D), with a
// learnt query for each head (Lee and others, "Set transformer", 2019, of one seed and no
// products).
enum class SetPooling { mean, sum, max, attention };

struct SetPoolSpec {
  std::string name;
  SetPooling kind = SetPooling::mean;
  int64_t width = 0;
  int64_t heads = 1;        // of attention: each weighs its part of a member, width / heads numbers
  double deviation = 0.02;  // of the query's start
  double members_per_row = 1;  // of all sets together, for each row of x, for what the layer costs
};

// Tensors: of `attention` NAME.query [heads,width/heads]; else none.
class SetPool {
 public:
  // A usage error where attention's heads do not divide its width.
  SetPool(Parameters& parameters, const SetPoolSpec& spec);
  // x [B,T,C] -> [R,1,C]: what set number r, row r of the links, has among all B*T rows of x; zeros
  // for an empty set. The sets of a sample have no members elsewhere and stand in the order of
  // samples, as many for each. Equal on all tensor-parallel ranks, like x, which has all positions.
  Var operator()(const Var& x, const ops::Links& sets) const;

 private:
  Var attended(const Var& x, const ops::Links& sets) const;

  SetPoolSpec spec_;
  Weight query_;
};

// One set for each sample: its rows that are no padding, where segments [B,T] (on any device) says
// which are (-1). In host memory.
ops::Links sets_of_samples(const Tensor& segments);

}  // namespace skein
