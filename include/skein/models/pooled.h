// One vector for a whole text, made of the model's last hidden states.
#pragma once

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// It replaces a model's own objective: its answers are the vectors [B,1,C] f32, its losses are 0.
// Padding is left out: in encoders batch.segments say which tokens are padding, in decoders it
// is all that lies behind the sample's place.
class PoolingObjective : public Objective {
 public:
  explicit PoolingObjective(Pool pool) : pool_(pool) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  Pool pool_;
};

}  // namespace skein
