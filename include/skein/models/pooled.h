// What a model makes of a whole text: one vector out of its last hidden states.
#pragma once

#include "skein/models/config.h"
#include "skein/models/model.h"

namespace skein {

// In place of a model's own objective: its answers are vectors [B,1,C] f32, its losses 0. Padding
// does not enter: of encoders it is what batch.segments say, of decoders what lies behind the
// sample's place.
class Pooled : public Objective {
 public:
  explicit Pooled(Pool pool) : pool_(pool) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  Pool pool_;
};

}  // namespace skein
