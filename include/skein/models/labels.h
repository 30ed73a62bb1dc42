// Heads that give a few numbers for a sequence or for a token: classes, tags, a grade.
#pragma once

#include "skein/models/model.h"

namespace skein {

// A model whose last piece has such a head.
class Labelled {
 public:
  virtual ~Labelled() = default;
  // [B,P,labels] at the batch's places, of the last piece's result.
  virtual Var label_scores(const Var& output, const Pass& pass) const = 0;
};

// Cross entropy of batch.targets, or the squared error from batch.values where the batch has those
// (labels = 1), over all places whose weight is not 0.
class LabelObjective : public Objective {
 public:
  explicit LabelObjective(const Labelled& last_piece) : model_(last_piece) {}
  Losses losses(const Var& output, const LossPass& pass) const override;
  // The scores, [B,P,labels] f32.
  std::vector<Tensor> answers(const Var& output, const Pass& pass) const override;

 private:
  const Labelled& model_;
};

}  // namespace skein
