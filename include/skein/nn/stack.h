// Transformer blocks and the run over a range of them. Recompute policy lives here and nowhere
// else.
#pragma once

#include <string>
#include <vector>

#include "skein/nn/attention.h"

namespace skein {

enum class NormPlacement { pre, post };

struct BlockSpec {
  AttentionSpec attention;
  MlpSpec mlp;
  NormSpec norm;  // its name is replaced
  NormPlacement placement = NormPlacement::pre;
  double dropout = 0;  // on the attention's and the feed-forward's results
};

// pre:  x + f(norm(x)) twice;  post:  norm(x + f(x)) twice.
class Block {
 public:
  Block(Parameters& parameters, int number, const BlockSpec& spec);
  Var operator()(const Var& x, const Pass& pass) const;  // [B,T,C] -> [B,T,C]
  bool learns() const { return norm_1_.learns(); }

 private:
  Var pre_norm(const Var& x, const Pass& pass) const;
  Var attention_half(const Var& x, const Pass& pass) const;
  Var mlp_half(const Var& x, const Pass& pass) const;
  Var joined(const Var& x, const Var& branch, const Pass& pass, int place) const;
  ops::Joined joined(const Var& x, const Var& branch, const NormLayer& norm, const Pass& pass,
                     int place) const;

  int number_;
  std::string name_;
  NormPlacement placement_;
  double dropout_;
  NormLayer norm_1_;
  Attention attention_;
  NormLayer norm_2_;
  Mlp mlp_;
};

// Dropout on [B,T/t,C] activations at one site; x itself outside training.
Var residual_dropout(const Var& x, const Pass& pass, double probability, int block, int place);

// Blocks [first, last) of a model, in order. Recompute::full keeps a block's input only; selective
// keeps the inputs of the attention half and of the feed-forward half only. Frozen blocks before
// the first that learns keep nothing.
class Stack {
 public:
  Stack(Parameters& parameters, int first, int last, int chunk, const BlockSpec& spec);
  Var operator()(Var x, const Pass& pass) const;

 private:
  std::vector<Block> blocks_;
};

}  // namespace skein
