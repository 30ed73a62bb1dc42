// One vector for a whole text, picture or graph, or for each token, made of the model's last hidden
// states.
#pragma once

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// It replaces a model's own objective: its answers are the vectors [B,1,C] f32, its losses are 0.
// Padding is left out: in encoders batch.segments say which tokens are padding, in decoders it
// is all that lies behind the sample's place; pictures have none, and graphs have segments. A graph
// that has a virtual node, ahead of its own, is that node's state whatever the pool.
class PoolingObjective : public Objective {
 public:
  // ahead: tokens at the beginning, such as a class token, that means leave out.
  explicit PoolingObjective(Pool pool, int64_t ahead = 0) : pool_(pool), ahead_(ahead) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  Pool pool_;
  int64_t ahead_;
};

// The same, but its answers are the hidden states of all tokens, [B,T,C] f32, padding included, and
// a graph's virtual node not.
class TokensObjective : public Objective {
 public:
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;
};

}  // namespace skein
